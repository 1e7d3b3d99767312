// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_reads.h decides which base pages fault twice: memory from calloc or mmap that is read before it is written is the kernel's
// page of zeros at first, and a page of its own at the first write. A trace tells which pages were read first. It does not tell of
// which the program's libraries and the kernel (read) had been the first writers; but the process' own count of faults tells how
// many there were beyond the first touches, and no more than those are taken for second ones.
//
// O(1) an access; 64 bytes for each 2 MiB that is accessed.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace smalloc::benefit {

class FirstReads {
public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  /// An access of a category, or of kNobody, to the base page of an address.
  void access(uint64_t address, uint32_t category, bool write);
  /// The pages of these addresses are the kernel's again.
  void given_back(uint64_t start, uint64_t end);

  /// Second faults of each category, where the process had so many faults in all.
  std::vector<double> second_faults(double faults) const;

private:
  using Seen = std::array<uint64_t, 8>; // a bit for each page of 2 MiB
  Seen &seen_in(uint64_t region);

  std::unordered_map<uint64_t, Seen> seen_;
  uint64_t last_region_ = UINT64_MAX;
  Seen *last_ = nullptr; // entries stay where they are
  uint64_t touches_ = 0;
  std::vector<uint64_t> read_; // first, by category
};

} // namespace smalloc::benefit
