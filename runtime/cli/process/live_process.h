// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_process.h decides how the statistics page of a running process (smalloc/live.h) is found and
// which of its contents are believed: nothing is mapped, only copied, and every offset is checked,
// for the page is whatever that process made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smalloc::cli {

struct LiveHeap {
  std::string name;
  uint64_t start = 0, end = 0;
  std::optional<uint64_t> resident_bytes, superpage_bytes; // what the kernel says
};

struct LiveSite {
  uint64_t id = 0;
  std::string function, file;
  uint32_t line = 0;
  bool small_seen = false;
  uint64_t requested_bytes = 0, live_bytes = 0, peak_bytes = 0, live_objects = 0, superpages = 0;
  uint64_t superpages_peak = 0;
  uint32_t directive = 0, superpages_predicted = 0; // enum smalloc_live_agent
  uint32_t page_shift = 0;
};

struct LiveView {
  uint32_t pid_inside = 0; // as the process sees itself
  uint64_t started_ns = 0, sample_bytes = 0;
  uint32_t strategy = 0, tracking = 0;
  std::string machine, thp, library_version;
  std::vector<LiveHeap> heaps;
  std::vector<std::pair<std::string, uint64_t>> counters;
  std::vector<LiveSite> sites; // the biggest first
  uint64_t mappings_ours = 0, mappings_all = 0;
  uint32_t policy = 0, bar_thousandths = 0, phases = 0; // enum smalloc_live_policy
  uint64_t superpages_supply = 0, superpages_claimed = 0, superpages_taken = 0;
};

// The contents of a page; nothing, and why, when they are not those of a page.
std::optional<LiveView> parse_live_page(const std::vector<unsigned char> &bytes, std::string &why);

// Adds what smaps (its text) says of each heap.
void add_kernel_view(LiveView &view, const std::string &smaps);

// Throws Failure with the reason and the cure: no such process, another user's, no library in it,
// heaps not started.
LiveView look_into(int pid);

// Has the process ended?
bool has_ended(int pid);

// The name that the kernel shows for it; "?" when it is gone.
std::string program_name(int pid);

} // namespace smalloc::cli
