// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// live_process.h finds the statistics page of a running process (smalloc/live.h) and validates it.
// The page is copied, never mapped, and every offset is checked, because the process may have
// written anything into it.
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
  std::optional<uint64_t> resident_bytes, superpage_bytes; // from the kernel
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
  uint32_t pid_inside = 0; // its number in its own namespace
  uint64_t started_ns = 0, sample_bytes = 0;
  uint32_t strategy = 0, tracking = 0;
  std::string machine, thp, library_version;
  std::vector<LiveHeap> heaps;
  std::vector<std::pair<std::string, uint64_t>> counters;
  std::vector<LiveSite> sites; // largest first
  uint64_t mappings_of_heaps = 0, mappings_all = 0;
  uint32_t policy = 0, bar_thousandths = 0, phases = 0; // enum smalloc_live_policy
  uint64_t superpages_supply = 0, superpages_claimed = 0, superpages_taken = 0;
};

// Parses the contents of a page. If they are invalid, returns nothing; `why` gets the reason.
std::optional<LiveView> parse_live_page(const std::vector<unsigned char> &bytes, std::string &why);

// Adds the numbers that smaps (its text) has for each heap.
void add_kernel_view(LiveView &view, const std::string &smaps);

// Reads the statistics of a process. Throws Failure with the reason and the cure: no such process,
// another user's, no library in it, heaps not started.
LiveView look_into(int pid);

// True if the process has ended.
bool has_ended(int pid);

// Returns the kernel's name for the process; "?" if it has ended.
std::string program_name(int pid);

} // namespace smalloc::cli
