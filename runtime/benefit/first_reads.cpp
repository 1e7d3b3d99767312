// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// first_reads.cpp distributes the second faults. If there were fewer of them than pages that were
// read first, each category gets the same share of its pages.
#include "runtime/benefit/first_reads.h"

#include <algorithm>
#include <numeric>

namespace smalloc::benefit {
namespace {
constexpr unsigned kPageShift = 12, kRegionShift = 21;
constexpr uint64_t kPagesARegion = uint64_t{1} << (kRegionShift - kPageShift);
} // namespace

FirstReads::Seen &FirstReads::seen_in(uint64_t region) {
  if (region != last_region_) {
    last_ = &seen_[region];
    last_region_ = region;
  }
  return *last_;
}

void FirstReads::access(uint64_t address, uint32_t category, bool write) {
  const uint64_t page = (address >> kPageShift) % kPagesARegion;
  uint64_t &bits = seen_in(address >> kRegionShift)[page / 64];
  const uint64_t bit = uint64_t{1} << page % 64;
  if (bits & bit)
    return;
  bits |= bit;
  touches_++;
  if (write || category == kNobody)
    return;
  if (category >= read_.size())
    read_.resize(category + 1);
  read_[category]++;
}

void FirstReads::given_back(uint64_t start, uint64_t end) {
  for (uint64_t number = start >> kPageShift; number << kPageShift < end; number++) {
    const uint64_t page = number % kPagesARegion;
    seen_in(number / kPagesARegion)[page / 64] &= ~(uint64_t{1} << page % 64);
  }
}

std::vector<double> FirstReads::second_faults(double faults) const {
  const auto read = static_cast<double>(std::accumulate(read_.begin(), read_.end(), uint64_t{0}));
  const double second = std::clamp(faults - static_cast<double>(touches_), 0.0, read);
  std::vector<double> shares;
  for (const uint64_t own : read_)
    shares.push_back(read > 0 ? static_cast<double>(own) * second / read : 0);
  return shares;
}

} // namespace smalloc::benefit
