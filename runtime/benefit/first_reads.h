// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_reads.h counts the base pages that fault twice. If memory from calloc or mmap is read
// before it is written, the kernel first maps its page of zeros. The first write then faults again.
// A trace shows which pages the program read first. It does not show which of them its libraries or
// the kernel (read) had written before. But the process's own count of faults gives the number of
// faults beyond the first touches. At most that many are taken for second faults.
//
// O(1) an access; 64 bytes for each 2 MiB that is accessed or given back.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace smalloc::benefit {

class FirstReads {
public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  /// Records an access of a category, or of kNobody, to the base page of an address.
  void access(uint64_t address, uint32_t category, bool write);
  /// Forgets the pages of these addresses: they are the kernel's again.
  void given_back(uint64_t start, uint64_t end);

  /// Returns the second faults of each category. faults: page faults of the process in all.
  std::vector<double> second_faults(double faults) const;

private:
  using Seen = std::array<uint64_t, 8>; // a bit for each page of 2 MiB
  Seen &seen_in(uint64_t region);

  std::unordered_map<uint64_t, Seen> seen_;
  uint64_t last_region_ = UINT64_MAX;
  Seen *last_ = nullptr; // entries do not move
  uint64_t touches_ = 0;
  std::vector<uint64_t> read_; // pages read first, by category
};

} // namespace smalloc::benefit
