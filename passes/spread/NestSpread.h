//===- NestSpread.h - TLB misses of a loop nest -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes how many accesses of each reference of a loop nest miss a TLB of a given reach, and for
// how many of these misses the processor waits. docs/internals/spread.md derives the model. In
// short:
//  - A loop's working set is what one execution of the loop touches: all references together, each
//    object once.
//  - The innermost loops whose working set is within reach keep their pages. The first loop beyond
//    reach reloads them.
//  - References at a fixed distance share pages: the second finds the pages that the first has
//    touched, if the reach lasts until then.
//  - An unpredictable reference finds its page with probability reach / pages.
//  - The processor waits only for the first page of each run of a prefetched stream.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_NESTSPREAD_H
#define SMALLOC_PASSES_NESTSPREAD_H

#include "passes/spread/PageSpread.h"

namespace smalloc {

struct SpreadTarget {
  uint64_t PageBytes = 4096;
  uint64_t ReachPages = 2048;
  /// Longest stride of a prefetched stream; a stream's page walks overlap with other work.
  uint64_t PrefetchMaxStrideBytes = 2048;
  /// False: the prefetcher stops at each page end, and the processor waits for the next page's
  /// walk.
  bool PrefetchCrossesPage = true;
  /// A page goes into set (page number modulo Sets). 1: the TLB is fully associative or hashed.
  uint64_t Sets = 1;
  uint64_t SuperpageBytes = 2u << 20;
  uint64_t SuperpageReach = 1024; ///< superpages that the TLB holds
  bool SharedReach = false; ///< base pages and superpages compete for the same ReachPages entries
};

struct SpreadResult {
  double Pages = 0;    ///< distinct pages that one execution of the whole nest touches
  double Accesses = 0; ///< executions of the reference in one execution of the nest
  /// TLB misses per access at the target's reach, including the nest's first touches.
  double MissesPerAccess = 0;
  double ExposedPerAccess = 0; ///< misses per access that no prefetched stream hides
  double AccessesPerPage = 0;  ///< Accesses / Pages: below 2 the nest hardly revisits a page
};

/// Returns the misses of each reference of one nest; the references share the reach. Result i
/// belongs to \p Nest[i]. SpreadLevel::Loop identifies the loops. Without it, references of equal
/// depth count as being in the same loops, and a reference with fewer levels as being in the outer
/// ones.
std::vector<SpreadResult> nestSpread(const std::vector<SpreadReference> &Nest,
                                     const SpreadTarget &T);

/// Returns the result of the first reference only. Cheaper than nestSpread(), which also evaluates
/// the other references.
SpreadResult spreadOfFirst(const std::vector<SpreadReference> &Nest, const SpreadTarget &T);

/// Returns the smallest object size in bytes at which walking the object costs at least
/// \p MinCycles per access. The size bounds the unknown trip counts of \p R; other sizes stay as
/// they are. \p MissCycles: cost of a miss. UINT64_MAX: no size costs as much.
uint64_t smallestPayingBytes(const SpreadReference &R, const SpreadTarget &T, double MissCycles,
                             double MinCycles);

} // namespace smalloc
#endif
