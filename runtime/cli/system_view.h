// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_view.h decides how the kernel's files are read: below a root that tests replace by a
// folder of their own, so that "no THP" can be tested on a machine that has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

class SystemView {
public:
  explicit SystemView(std::string root = {}) : root_(std::move(root)) {}

  // Behind a replaced root the running kernel is another one: what it can do must not be tried.
  bool real() const { return root_.empty(); }

  // The whole file without its last newline; nothing when it cannot be read.
  std::optional<std::string> read(const std::string &path) const;
  std::optional<uint64_t> read_number(const std::string &path) const;
  // "always [madvise] never" -> "madvise".
  std::optional<std::string> read_choice(const std::string &path) const;
  // Names in a folder, sorted.
  std::vector<std::string> list(const std::string &path) const;
  bool exists(const std::string &path) const;

private:
  std::string root_;
};

// Of the running kernel; behind a replaced root what its /proc/self/smaps says, else 4096.
uint64_t base_page_bytes(const SystemView &system);
// Of a transparent superpage; 0: there are none.
uint64_t superpage_bytes(const SystemView &system);

// The mode of transparent huge pages: always, madvise, never, or absent.
std::string thp_mode(const SystemView &system);

struct HugetlbPool {
  uint64_t page_bytes = 0;
  uint64_t total = 0, free = 0, reserved = 0, surplus_limit = 0;
  // Pages that a new mapping may reserve.
  uint64_t available() const { return (free > reserved ? free - reserved : 0) + surplus_limit; }
};

// Smallest page first; empty when the kernel has no hugetlb.
std::vector<HugetlbPool> hugetlb_pools(const SystemView &system);

} // namespace smalloc::cli
