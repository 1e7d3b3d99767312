// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// system_view.h reads the kernel's files below a root. Tests replace the root by a folder, so that
// "no THP" can be tested on a machine with THP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smalloc::cli {

class SystemView {
public:
  explicit SystemView(std::string root = {}) : root_(std::move(root)) {}

  // True if the files are those of the running kernel. Otherwise no system call must be tried.
  bool real() const { return root_.empty(); }

  // Returns the file without its last newline, or nothing if it cannot be read.
  std::optional<std::string> read(const std::string &path) const;
  std::optional<uint64_t> read_number(const std::string &path) const;
  // Returns the choice in brackets: "always [madvise] never" -> "madvise".
  std::optional<std::string> read_choice(const std::string &path) const;
  // Returns the sorted names in a folder.
  std::vector<std::string> list(const std::string &path) const;
  bool exists(const std::string &path) const;

private:
  std::string root_;
};

// Returns the base page of the running kernel. With a replaced root: that of its /proc/self/smaps,
// else 4096.
uint64_t base_page_bytes(const SystemView &system);
// Returns the size of a transparent superpage; 0: none.
uint64_t superpage_bytes(const SystemView &system);

// Returns the mode of transparent huge pages: always, madvise, never, or absent.
std::string thp_mode(const SystemView &system);

struct HugetlbPool {
  uint64_t page_bytes = 0;
  uint64_t total = 0, free = 0, reserved = 0, surplus_limit = 0;
  // Returns the number of pages that a new mapping may reserve.
  uint64_t available() const { return (free > reserved ? free - reserved : 0) + surplus_limit; }
};

// Returns the pools, smallest page first; empty if the kernel has no hugetlb.
std::vector<HugetlbPool> hugetlb_pools(const SystemView &system);

} // namespace smalloc::cli
