// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// array_misses.cpp chooses the method for each kind of trace. If the array's sets are simulated, a
// hit's distance is not computed. Distances between a PMU's samples are not those of the program,
// so these misses are priced by all pages in use.
#include "runtime/benefit/array_misses.h"

#include "runtime/reuse/associativity.h"

#include <algorithm>
#include <cmath>

namespace smalloc::benefit {
namespace {

// A page's key has its PageSize above its number, so that neighbours stay neighbours for the index.
// The sets are chosen by the lowest bits; for them the size is moved below the number.
constexpr unsigned kSizeShift = 60, kSizeBits = 2;
constexpr uint64_t kNumberMask = (uint64_t{1} << kSizeShift) - 1;
constexpr size_t kAhead = 12;             // accesses between a prefetch of the order's table and
                                          // its use
constexpr uint64_t kPagesOfTableLine = 8; // entries of 8 bytes in a line of 64
constexpr int kParts = 16;                // of a sample's distance, which stands for several

} // namespace

ArrayMisses::ArrayMisses(const TlbArray &tlb, double rate, double weight, bool all_miss,
                         reuse::PageIndex *touched)
    : tlb_(tlb), rate_(rate), weight_(weight), all_miss_(all_miss), known_(touched) {
  if (is_exact() && tlb.ways != 0 && tlb.ways != tlb.entries)
    sets_.emplace(tlb.entries, tlb.ways, kSizeBits);
}

void ArrayMisses::add(uint64_t number, PageSize size, Walk walk, uint32_t table_pages) {
  pages_.push_back(number | static_cast<uint64_t>(size) << kSizeShift);
  added_.push_back({walk, table_pages});
}

void ArrayMisses::run() {
  const size_t ahead = pages_.size() > kAhead ? pages_.size() - kAhead : 0;
  for (size_t i = 0; i < pages_.size(); i++) {
    if (i < ahead)
      order_.prefetch(pages_[i + kAhead]);
    const uint64_t page = pages_[i];
    if (page != last_page_)
      use(page, added_[i]);
    if (all_miss_)
      unknown_[static_cast<size_t>(added_[i].walk)]++;
    last_page_ = page;
  }
  pages_.clear();
  added_.clear();
}

void ArrayMisses::forget(uint64_t first, uint64_t end, PageSize size) {
  for (uint64_t number = first; number < end; number++) {
    const uint64_t page = number | static_cast<uint64_t>(size) << kSizeShift;
    order_.forget(page);
    if (known_)
      known_->erase(page);
  }
  last_page_ = UINT64_MAX;
}

bool ArrayMisses::is_first_touch(uint64_t page) {
  if (!known_)
    return true;
  uint32_t &known = known_->at(page);
  const bool first = known == reuse::PageIndex::kAbsent;
  known = 0;
  return first;
}

void ArrayMisses::use(uint64_t page, Added how) {
  const auto size = static_cast<PageSize>(page >> kSizeShift);
  uint64_t &touched = size == PageSize::kSuper && page & kByRegion
                          ? touched_.regions
                          : touched_.pages[static_cast<size_t>(size)];
  if (all_miss_ || (sets_ && sets_->hits((page & kNumberMask) << kSizeBits | page >> kSizeShift))) {
    touched += order_.use(page) && is_first_touch(page);
    return;
  }
  const uint64_t distance = order_.distance_of(page);
  const auto walk = static_cast<size_t>(how.walk);
  if (distance == reuse::DistanceCounter::kCold) {
    touched += is_first_touch(page);
    first_[walk]++;
  } else if (!is_exact() || sets_ || distance >= tlb_.entries) {
    // The curve was measured by a chase with one line of data in each page and one line of page
    // tables for eight pages. `priced` is the number of the chase's pages with as many lines.
    const uint64_t lines = distance + how.table_pages / kPagesOfTableLine,
                   priced = std::max<uint64_t>(how.table_pages ? lines * kPagesOfTableLine /
                                                                     (kPagesOfTableLine + 1)
                                                               : distance,
                                               1);
    distances_[walk].add(distance,
                         how.walk == Walk::kNear ? std::log(static_cast<double>(priced)) : 0);
  }
}

void ArrayMisses::start_counting() {
  for (size_t i = 0; i < kPageSizes; i++)
    before_.pages[i] += touched_.pages[i];
  before_.regions += touched_.regions;
  touched_ = {};
  distances_ = {};
  first_ = unknown_ = {};
}

double ArrayMisses::in_program(const Touched &touched, PageSize size) const {
  // A superpage of small objects holds parts of two regions of the recorded addresses. So it is in
  // the sample if either region is, and its distances come out too long.
  const bool super = size == PageSize::kSuper;
  const double kept = super ? 1 - (1 - rate_) * (1 - rate_) : rate_;
  return static_cast<double>(touched.pages[static_cast<size_t>(size)]) / kept +
         (super ? static_cast<double>(touched.regions) / rate_ : 0);
}

/// Calls visit(bin, distance, misses) for each bin. A bin of a sample is visited in parts: its
/// distances stand for distance / rate in the program, and some of them hit.
template <class Visit>
void ArrayMisses::for_each_part(const MissedDistances &of, const Visit &visit) const {
  reuse::MissShare share(tlb_.entries, tlb_.ways);
  const int parts = is_exact() ? 1 : kParts;
  for (size_t i = 0; i < of.bins(); i++) {
    const MissedDistances::Bin bin = of.bin(i);
    for (int part = 0; bin.count != 0 && part < parts; part++) {
      const double distance = is_exact()
                                  ? (bin.low + bin.high - 1) / 2
                                  : (bin.low + (bin.high - bin.low) * (part + 0.5) / parts) / rate_;
      const double missed = is_exact() ? 1 : share.at(static_cast<uint64_t>(distance));
      visit(bin, distance, bin.count * missed / parts);
    }
  }
}

double ArrayMisses::deviation_of(const MissedDistances &of) const {
  double misses = 0, logs = 0, squares = 0;
  for_each_part(of, [&](const MissedDistances::Bin &, double distance, double missed) {
    const double log = std::log(std::max(distance, 1.0));
    misses += missed;
    logs += missed * log;
    squares += missed * log * log;
  });
  if (misses <= 0)
    return 1;
  const double mean = logs / misses;
  return std::sqrt(std::max(squares / misses - mean * mean, 0.0));
}

ArrayMisses::Cost ArrayMisses::cost(const std::vector<WalkCurve> &curves, double in_use) const {
  Cost sum;
  for (size_t walk = 0; walk < kWalks; walk++) {
    const double unknown = curves[walk].at(in_use);
    const auto take = [&](double misses, double cycles) {
      sum.misses += misses;
      sum.cycles += misses * cycles;
    };
    // A first touch counts once, however many accesses each sample stands for.
    take((first_[walk] + unknown_[walk] * weight_) / rate_, unknown);
    const MissedDistances &of = distances_[walk];
    const double deviation =
        weight_ == 1 ? deviation_of(of) : 1; // a PMU's distances are not the program's
    for_each_part(of, [&](const MissedDistances::Bin &bin, double distance, double missed) {
      const double cycles =
          weight_ != 1 ? unknown
          // Near data: the chase uses each page once a lap (runtime/measure/pointer_chase.h), so
          // its distances are the pages themselves.
          : walk == static_cast<size_t>(Walk::kNear)
              ? curves[walk].at(std::exp(bin.mean_log) / rate_)
              : curves[walk].at_distance(distance, deviation);
      take(missed * weight_ / rate_, cycles);
    });
  }
  return sum;
}

} // namespace smalloc::benefit
