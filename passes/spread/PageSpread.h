//===- PageSpread.h - pages that a reference touches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many distinct pages a reference touches at each level of its loop nest. Plain arithmetic on numbers: no
// LLVM type, so that it is tested against a brute-force page counter. docs/spread.md derives the formulas; what the
// references of a nest do to each other in the TLB is NestSpread's.
//
// Paper: Magee and Qasem, "A Case for Compiler-driven Superpage Allocation", ACMSE 2009, figure 1 (with the negation that
// the figure lost: a reference that does NOT depend on the induction variable has spread 1), each reference clamped to
// its object's pages, pages compared with pages.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAGESPREAD_H
#define SMALLOC_PASSES_PAGESPREAD_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc {

/// One loop around a reference.
struct SpreadLevel {
  int64_t StrideBytes =
      0; ///< distance of the address between two iterations; 0: does not vary with this loop
  uint64_t Trip = 1; ///< iterations of one execution of the loop, on average; >= 1
  bool TripAssumed =
      false; ///< unknown count: Trip is a guess, and a moving address leaves the object after size/stride
  bool Irregular =
      false; ///< address is unpredictable (gather, hash, chase): each iteration any page of the object
  /// A triangular nest: the count runs evenly from TripMin to TripMax while loop TripOf (an index into the reference's
  /// levels, further out) runs. TripMax 0: the count is always Trip.
  uint64_t TripMin = 0, TripMax = 0;
  unsigned TripOf = 0;
  unsigned Loop =
      0; ///< which loop: references of one nest with the same number share it; 0: as its position

  uint64_t longest() const { return TripMax > Trip ? TripMax : Trip; }
};

/// One reference of a nest; Levels from the innermost loop outwards.
struct SpreadReference {
  uint64_t ElementBytes = 8;
  uint64_t ObjectBytes = UINT64_MAX; ///< UINT64_MAX: unbounded
  std::vector<SpreadLevel> Levels;
  unsigned Object = 0; ///< references with the same number walk the same object; 0: its own
  unsigned Group = 0;  ///< references with the same number stay at the same distance; 0: none does
  int64_t OffsetBytes = 0; ///< from the group's origin
  uint64_t StartBytes = 0; ///< of the lowest address, from the object's start
  bool Prefetched = false; ///< the program asks for its lines ahead of time: walks are overlapped
  bool Superpages = false; ///< the object lies on superpages: see SpreadTarget
};

/// Iterations of the levels \p From (inclusive) to \p To (exclusive).
double iterations(const SpreadReference &R, size_t From, size_t To);

/// Innermost level that the address varies with; Levels.size() if none.
size_t innermostVarying(const SpreadReference &R);

/// Pages of the object; infinite when its size is unknown.
double objectPages(const SpreadReference &R, uint64_t PageBytes);

/// \p R with assumed trip counts bounded by what fits the object.
SpreadReference boundedByObject(SpreadReference R);

/// Distinct pages touched by the innermost \p Depth levels of \p R.
/// Dimensions are merged from the smallest stride up: a dimension whose gap to the block below it is under a page
/// leaves no page untouched and widens the block; any other multiplies the number of blocks. Objects start on a page,
/// blocks start at multiples of what their strides and the page have in common. Clamped to the object.
/// O(levels log levels).
double pagesTouched(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// What the innermost levels of a reference touch, in more detail.
struct Footprint {
  double Pages = 1;         ///< pagesTouched()
  double PagesPerBlock = 1; ///< of the blocks that lie apart
  uint64_t BlockPages =
      1; ///< blocks start at multiples of so many pages: 1 unless a power-of-two pitch makes it more
};
Footprint footprint(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// pagesTouched(), but pages that overlapping dimensions enter again count again: each entry is a miss once the dimension
/// does not fit the reach.
double pagesEntered(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// Magee and Qasem's spread of one reference in pages: 1 if it varies with no loop; the innermost loop it varies with
/// gives I (non-contiguous dimension) or I*s/page (contiguous, step s), each further loop it varies with times I;
/// at most the object's pages. A dimension is non-contiguous if another loop walks the object with a smaller stride.
double paperSpread(const SpreadReference &R, uint64_t PageBytes);

} // namespace smalloc
#endif
