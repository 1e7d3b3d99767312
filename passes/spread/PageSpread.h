//===- PageSpread.h - pages that a reference touches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes how many distinct pages a reference touches at each level of its loop nest. Uses plain
// arithmetic on numbers and no LLVM type, so a test can compare it with a brute-force page counter.
// docs/internals/spread.md derives the formulas. NestSpread computes how the references of a nest
// compete for the TLB.
//
// Source: Magee and Qasem, "A Case for Compiler-driven Superpage Allocation", ACMSE 2009, figure 1.
// Differences: adds the negation that the figure lost (a reference that does NOT depend on the
// induction variable has spread 1), limits each reference to its object's pages, and compares pages
// with pages.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAGESPREAD_H
#define SMALLOC_PASSES_PAGESPREAD_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smalloc {

/// One loop around a reference.
struct SpreadLevel {
  /// Bytes between the addresses of two iterations; 0: the address does not vary with this loop.
  int64_t StrideBytes = 0;
  uint64_t Trip = 1; ///< average iterations of one execution of the loop; >= 1
  /// The count is unknown and Trip a guess. A moving address leaves the object after size / stride
  /// iterations.
  bool TripAssumed = false;
  /// The address is unpredictable (gather, hash, chase): each iteration may touch any page of the
  /// object.
  bool Irregular = false;
  /// Bounds of the count in a triangular nest: it runs evenly from TripMin to TripMax while loop
  /// TripOf runs. TripOf is the index of a loop further out in the reference's levels. TripMax 0:
  /// the count is always Trip.
  uint64_t TripMin = 0, TripMax = 0;
  unsigned TripOf = 0;
  /// Number of the loop; references of one nest with the same number share it. 0: loops are matched
  /// by their position.
  unsigned Loop = 0;

  uint64_t longest() const { return TripMax > Trip ? TripMax : Trip; }
};

/// One reference of a nest. Levels go from the innermost loop outwards.
struct SpreadReference {
  uint64_t ElementBytes = 8;
  uint64_t ObjectBytes = UINT64_MAX; ///< bytes of the object; UINT64_MAX: unbounded
  std::vector<SpreadLevel> Levels;
  unsigned Object = 0; ///< equal for references that walk the same object; 0: an object of its own
  unsigned Group = 0;  ///< equal for references at a fixed distance from each other; 0: no group
  int64_t OffsetBytes = 0; ///< distance from the group's origin
  uint64_t StartBytes = 0; ///< distance of the lowest address from the object's start
  bool Prefetched = false; ///< the program prefetches the lines itself, so page walks overlap
  bool Superpages = false; ///< the object is on superpages (SpreadTarget::SuperpageBytes)
};

/// Returns the product of the trip counts of levels \p From (inclusive) to \p To (exclusive).
double iterations(const SpreadReference &R, size_t From, size_t To);

/// Returns the innermost level that the address varies with; Levels.size() if there is none.
size_t innermostVarying(const SpreadReference &R);

/// Returns the number of pages of the object; infinite if the object's size is unknown.
double objectPages(const SpreadReference &R, uint64_t PageBytes);

/// Returns \p R with the assumed trip counts of its strided loops reduced to what fits the object.
SpreadReference boundedByObject(SpreadReference R);

/// Returns the number of distinct pages that the innermost \p Depth levels of \p R touch, at most
/// the object's. Merges dimensions from the smallest stride up. If the gap to the block below is
/// under a page, a dimension leaves no page untouched and widens the block. Any other dimension
/// multiplies the number of blocks. Objects start on a page; blocks start at multiples of the
/// common divisor of their strides and the page. O(levels^2).
double pagesTouched(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// The pages that the innermost levels of a reference touch, in detail.
struct Footprint {
  double Pages = 1;         ///< pagesTouched()
  double PagesPerBlock = 1; ///< average pages of one of the blocks, which are apart from each other
  /// Blocks start at multiples of this many pages. Above 1 only if the pitch is a multiple of a
  /// page.
  uint64_t BlockPages = 1;
};
/// Returns the footprint of the innermost \p Depth levels of \p R. O(levels^2).
Footprint footprint(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// Returns pagesTouched(), but counts a page again whenever overlapping dimensions enter it again.
/// Each entry is a miss once the dimension does not fit the reach.
double pagesEntered(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// Returns Magee and Qasem's spread of one reference in pages. It is 1 if the reference varies with
/// no loop. The innermost loop it varies with, of I iterations, gives I for a non-contiguous
/// dimension and I * s / page for a contiguous one of step s. Each further loop that it varies with
/// multiplies the spread by its I. The result is at most the object's pages. A dimension is
/// non-contiguous if a loop further out walks the object with a smaller stride.
double paperSpread(const SpreadReference &R, uint64_t PageBytes);

} // namespace smalloc
#endif
