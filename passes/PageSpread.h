//===- PageSpread.h - pages that a loop nest touches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many distinct pages a reference touches at each level of its loop nest, and how many of its accesses
// miss a TLB of a given reach. Plain arithmetic on numbers: no LLVM type, so that it is tested against a
// brute-force page counter and an LRU simulation.
//
// Two models:
//  - paper: Magee and Qasem, "A Case for Compiler-driven Superpage Allocation", ACMSE 2009, figure 1 (with the
//    negation that the figure lost: a reference that does NOT depend on the induction variable has spread 1), each
//    reference clamped to its object's pages, pages compared with pages;
//  - spread: distinct pages per level, working set against reach level by level: the innermost levels whose pages fit
//    the TLB together keep them; the first level that does not fit reloads them in each execution.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PAGESPREAD_H
#define SMALLOC_PASSES_PAGESPREAD_H

#include <cstdint>
#include <vector>

namespace smalloc {

/// One loop around a reference.
struct SpreadLevel {
  int64_t StrideBytes =
      0; ///< distance of the address between two iterations; 0: does not vary with this loop
  uint64_t Trip = 1; ///< iterations of one execution of the loop; >= 1
  bool TripAssumed =
      false; ///< unknown count: Trip is a guess, and a moving address leaves the object after size/stride
  bool Irregular =
      false; ///< address is unpredictable (gather, hash, chase): each iteration any page of the object
};

/// One reference of a nest; Levels from the innermost loop outwards.
struct SpreadReference {
  uint64_t ElementBytes = 8;
  uint64_t ObjectBytes = UINT64_MAX; ///< UINT64_MAX: unbounded
  std::vector<SpreadLevel> Levels;
};

struct SpreadTarget {
  uint64_t PageBytes = 4096;
  uint64_t ReachPages = 2048;
  uint64_t PrefetchMaxStrideBytes =
      2048; ///< a stride up to this is a stream: its walks are overlapped
};

struct SpreadResult {
  double Pages = 0;    ///< distinct pages that one execution of the whole nest touches
  double Accesses = 0; ///< executions of the reference in one execution of the nest
  double MissesPerAccess =
      0; ///< TLB misses per access at the target's reach, first touches of the nest included
  double ExposedPerAccess = 0; ///< those that are not hidden behind a hardware-prefetched stream
  double AccessesPerPage = 0;  ///< Accesses / Pages: below 2 a page is hardly revisited
};

/// Distinct pages touched by the innermost \p Depth levels of \p R.
/// Dimensions are merged from the smallest stride up: a dimension whose gap to the block below it is under a page
/// leaves no page untouched and widens the block; any other multiplies the number of blocks. Blocks start at an
/// arbitrary offset, so a block of c bytes covers (c - 1) / page + 1 pages on average; a single block starts on
/// a page. Clamped to the object. O(levels log levels).
double pagesTouched(const SpreadReference &R, unsigned Depth, uint64_t PageBytes);

/// Misses of each reference of one nest, the references sharing the reach. Result i belongs to \p Nest[i].
/// All references are taken to sit in the same loops (shorter level lists: outer part of an imperfect nest).
std::vector<SpreadResult> nestSpread(const std::vector<SpreadReference> &Nest,
                                     const SpreadTarget &T);

/// Magee and Qasem's spread of one reference in pages: 1 if it varies with no loop; the innermost loop it varies with
/// gives I (non-contiguous dimension) or I*s/page (contiguous, step s), each further loop it varies with times I;
/// at most the object's pages. A dimension is non-contiguous if another loop walks the object with a smaller stride.
double paperSpread(const SpreadReference &R, uint64_t PageBytes);

/// Object size in bytes from which walking it costs at least \p MinCycles a access, other sizes being equal, for a
/// reference whose unknown trip counts follow the object's size. Returns UINT64_MAX when no size does.
uint64_t smallestPayingBytes(const SpreadReference &R, const SpreadTarget &T, double MissCycles,
                             double MinCycles);

} // namespace smalloc
#endif
