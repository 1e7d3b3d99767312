// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pointer_chase.cpp lays out the lines of a chase and turns its repeats into one latency.
#include "runtime/measure/pointer_chase.h"

#include "runtime/measure/ticks.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace smalloc::calibrate {
namespace {

constexpr uint64_t kLineBytes = 64;
// Loads per piece: about 20 microseconds at 15 cycles, shorter than a scheduler tick and longer
// than a reading of the clock.
constexpr uint64_t kPieceLoads = 4096;
// Strides of up to 2^7 pages find the ways of a first level of up to 256 entries.
constexpr uint64_t kWaysReach = uint64_t{1} << 15;
// Pieces between two timings of the chain of additions.
constexpr unsigned kPiecesPerChain = 8;
// Pieces that are timed if several lines of each page take turns: a lap is long, and all pieces are
// alike.
constexpr unsigned kPiecesOfLongLap = 24;
constexpr uint64_t kOverlappedPieceLoads = 2048; // 16 KiB of addresses
// Loads before the timed pieces.
// Dependent loads: the page tables that were written last are still near. After these loads they
// are as far away as in a program that only loads. Where neighbours fill the last-level cache,
// lines that are reused after milliseconds are evicted. Measured on a Xeon
// guest with 480 MiB of shared L3: a walk took 60 ns in the first pieces. From the fortieth piece
// on it took 200 ns, as in lists and trees.
// Overlapping loads: the page tables of pages that were touched in order must each be used some
// forty times to be as near as in programs. There: 96 cycles at first, 39 after kLoadsOfArrival
// loads, 28 after four times as many and in gups.
constexpr uint64_t kLoadsOfArrival = 40 * kPieceLoads,
                   kLoadsOfOverlappedArrival = 160 * kPieceLoads;

} // namespace

PointerChase::PointerChase(const Plan &plan) : plan_(plan) {
  const uint64_t page = calibrate::base_page_bytes();
  base_ = base_region();
  packed_ = PageRegion(std::max(plan.most_lines, kWaysReach) * kLineBytes, page);
  if (plan.superpage_bytes && plan.superpage_memory >= plan.superpage_bytes) {
    super_ = PageRegion(plan.superpage_memory, plan.superpage_bytes);
    if (super_.size()) {
      super_.data()[0] = 1;
      has_superpages_ = super_.superpage_bytes() >= plan.superpage_bytes;
    }
  }
  for (const auto &[page_bytes, bytes] : plan.other_sizes) {
    PageRegion region(bytes, page_bytes);
    if (region.is_given())
      others_.push_back(std::move(region));
  }
  // Bring the clock frequency up before the first measurement.
  for (unsigned i = 0; i < 200; i++)
    chain_ticks();
}

uint64_t PointerChase::max_lines(uint64_t page_bytes, uint64_t stride_bytes) const {
  const PageRegion *region = region_of(page_bytes);
  if (!region)
    return 0;
  // Pages that do not lie side by side have one line each.
  return stride_bytes == page_bytes ? region->pages() : region->size() / stride_bytes;
}

const PageRegion *PointerChase::region_of(uint64_t page_bytes) const {
  if (page_bytes <= base_.page_bytes())
    return &base_;
  if (has_superpages_ && page_bytes == super_.page_bytes())
    return &super_;
  for (const PageRegion &region : others_)
    if (region.page_bytes() == page_bytes)
      return &region;
  return nullptr;
}

PageRegion PointerChase::base_region() const {
  const uint64_t page = calibrate::base_page_bytes();
  return PageRegion(std::max(plan_.most_lines, kWaysReach) * page, page);
}

// Releases the base pages and gets them anew in another order, like a program that gets pages of a
// predecessor. The kernel hands out scattered frames before it splits larger blocks. Memory kept
// between rounds used up the scattered frames: a walk over 65,536 pages cost 120 cycles by the
// third round where a program paid 370. Superpages are kept, since their frames do not matter.
void PointerChase::refresh() {
  base_ = PageRegion();
  base_ = base_region();
  packed_.drop();
}

char *PointerChase::line(const Chase &chase, uint64_t i) const {
  if (chase.dense)
    return packed_.data() + i * kLineBytes;
  const bool other = chase.other_page_bytes && i % 2;
  const uint64_t k = chase.other_page_bytes ? i / 2 : i;
  const uint64_t page = other ? chase.other_page_bytes : chase.page_bytes;
  const uint64_t stride = other ? chase.other_page_bytes : chase.stride_bytes;
  const PageRegion &region = *region_of(page);
  const uint64_t at = k % chase.lines, within = std::min(stride, page);
  char *start = stride == region.page_bytes() ? region.page(at) : region.data() + at * stride;
  // Stagger the lines; otherwise all would be in the same set of the data caches.
  const uint64_t apart = within / chase.lines_a_page, turn = i / chase.lines;
  return start + (i * kLineBytes + turn * apart) % within;
}

namespace {

// Follows `loads` pointers from `at`, or reads the list from its `at`-th address; returns the new
// position.
void **follow(void **at, uint64_t loads) {
  for (uint64_t i = loads; i; i--)
    at = static_cast<void **>(*at);
  __asm__ volatile("" : "+r"(at));
  return at;
}
size_t follow(const std::vector<void **> &list, size_t at, uint64_t loads) {
  uintptr_t sum = 0;
  for (uint64_t left = loads; left;) {
    const size_t some = std::min<uint64_t>(left, list.size() - at);
    for (size_t i = at; i < at + some; i++)
      sum += reinterpret_cast<uintptr_t>(*list[i]);
    at = (at + some) % list.size();
    left -= some;
  }
  __asm__ volatile("" : "+r"(sum));
  return at;
}

} // namespace

std::optional<Latency> PointerChase::chase(const Chase &chase) {
  if (chase.lines < 2 || chase.lines > max_lines(chase.page_bytes, chase.stride_bytes) ||
      (chase.other_page_bytes &&
       chase.lines / 2 + 1 > max_lines(chase.other_page_bytes, chase.other_page_bytes)) ||
      (chase.dense && chase.lines * kLineBytes > packed_.size()))
    return std::nullopt;
  if (chase.lines_a_page > 1)
    return long_chase(chase);
  std::vector<uint32_t> next(chase.lines);
  std::iota(next.begin(), next.end(), 0u);
  for (uint64_t i = chase.lines - 1; i > 0; i--)
    std::swap(next[i], next[random_() % i]);
  for (uint64_t i = 0; i < chase.lines; i++)
    *reinterpret_cast<void **>(line(chase, i)) = line(chase, next[i]);

  void **at = reinterpret_cast<void **>(line(chase, 0));
  std::vector<void **> list;
  for (uint64_t i = 0; i < chase.lines; i++) { // fills caches and TLB
    if (chase.independent)
      list.push_back(at);
    at = static_cast<void **>(*at);
  }
  size_t place = 0;
  // A short lap is repeated until a piece is long enough to time. A long lap is timed in pieces;
  // each is compared with itself in other laps.
  const uint64_t piece = std::min(chase.lines, kPieceLoads);
  const uint64_t pieces = chase.lines / piece, laps = std::max<uint64_t>(1, kPieceLoads / piece);
  const unsigned repeats = pieces > 1 ? std::max(plan_.repeats / 4, 5u) : plan_.repeats;
  std::vector<std::vector<double>> times(pieces);
  uint64_t chain = UINT64_MAX;
  for (unsigned repeat = 0; repeat < repeats; repeat++)
    for (uint64_t k = 0; k < pieces; k++) {
      if ((repeat * pieces + k) % kPiecesPerChain == 0)
        chain = std::min(chain, chain_ticks());
      const uint64_t loads =
          pieces > 1 ? piece + (k + 1 == pieces ? chase.lines % piece : 0) : laps * chase.lines;
      const uint64_t before = ticks();
      if (chase.independent)
        place = follow(list, place, loads);
      else
        at = follow(at, loads);
      times[k].push_back(static_cast<double>(ticks() - before) / static_cast<double>(loads));
    }
  cycles_per_tick_ = kChainCycles / static_cast<double>(chain);
  double least = 0, middle = 0;
  for (std::vector<double> &of_piece : times) {
    std::sort(of_piece.begin(), of_piece.end());
    least += of_piece.front() / static_cast<double>(pieces);
    middle += of_piece[of_piece.size() / 2] / static_cast<double>(pieces);
  }
  return Latency{least * cycles_per_tick_, middle / least};
}

// Measures a chase with several lines per page. No piece recurs, so none can be compared with
// itself: the latency is the lower quartile of all pieces.
std::optional<Latency> PointerChase::long_chase(const Chase &chase) {
  if (chase.dense || chase.other_page_bytes)
    return std::nullopt;
  const uint64_t lines = chase.lines * chase.lines_a_page;
  std::vector<void **> list;
  void **at = nullptr;
  if (chase.independent) { // any lines: only their pages must be resident
    for (uint64_t i = 0; i < chase.lines; i++)
      *reinterpret_cast<void **>(line(chase, i)) = nullptr;
  } else {
    std::vector<uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    for (uint64_t i = lines - 1; i > 0; i--)
      std::swap(order[i], order[random_() % (i + 1)]);
    for (uint64_t i = 0; i < lines; i++)
      *reinterpret_cast<void **>(line(chase, order[i])) = line(chase, order[(i + 1) % lines]);
    at = reinterpret_cast<void **>(line(chase, order[0]));
  }
  std::vector<double> times;
  uint64_t chain = UINT64_MAX;
  const uint64_t loads = chase.independent ? kOverlappedPieceLoads : kPieceLoads,
                 arrival =
                     (chase.independent ? kLoadsOfOverlappedArrival : kLoadsOfArrival) / loads;
  for (uint64_t k = 0; k < arrival + kPiecesOfLongLap; k++) {
    if (k % kPiecesPerChain == 0)
      chain = std::min(chain, chain_ticks());
    // The list fits the first-level cache, because programs compute their addresses.
    list.clear();
    for (uint64_t i = 0; chase.independent && i < loads; i++)
      list.push_back(reinterpret_cast<void **>(line(chase, random_() % lines)));
    const uint64_t before = ticks();
    if (chase.independent)
      follow(list, 0, loads);
    else
      at = follow(at, loads);
    if (k >= arrival)
      times.push_back(static_cast<double>(ticks() - before) / static_cast<double>(loads));
  }
  cycles_per_tick_ = kChainCycles / static_cast<double>(chain);
  std::sort(times.begin(), times.end());
  const double lower = times[times.size() / 4];
  return Latency{lower * cycles_per_tick_, times[times.size() / 2] / lower};
}

} // namespace smalloc::calibrate
