//===- NestSpread.h - TLB misses of a loop nest -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many accesses of each reference of a nest miss a TLB of a given reach, and how many of these misses the
// processor waits for. docs/spread.md derives it. In short:
//  - the working set of a loop is what one execution of it touches, all references together, each object once;
//  - the innermost loops whose working set is within reach keep their pages; the first that is not reloads them;
//  - references at a fixed distance share pages: what one has touched the other finds, if the reach lasts so long;
//  - unpredictable references find a page with probability reach / pages;
//  - a stream waits only for the first page of each run.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_NESTSPREAD_H
#define SMALLOC_PASSES_NESTSPREAD_H

#include "passes/spread/PageSpread.h"

namespace smalloc {

struct SpreadTarget {
  uint64_t PageBytes = 4096;
  uint64_t ReachPages = 2048;
  uint64_t PrefetchMaxStrideBytes =
      2048; ///< a stride up to this is a stream: its walks are overlapped
  bool PrefetchCrossesPage =
      true; ///< false: the prefetcher stops at each page, whose walk is waited for
  uint64_t Sets =
      1; ///< a page goes into set (page number modulo Sets); 1: fully associative, or hashed
  uint64_t SuperpageBytes = 2u << 20;
  uint64_t SuperpageReach = 1024; ///< superpages that the TLB holds
  bool SharedReach = false; ///< base pages and superpages compete for the same ReachPages entries
};

struct SpreadResult {
  double Pages = 0;    ///< distinct pages that one execution of the whole nest touches
  double Accesses = 0; ///< executions of the reference in one execution of the nest
  double MissesPerAccess =
      0; ///< TLB misses per access at the target's reach, first touches of the nest included
  double ExposedPerAccess = 0; ///< those that are not hidden behind a prefetched stream
  double AccessesPerPage = 0;  ///< Accesses / Pages: below 2 a page is hardly revisited
};

/// Misses of each reference of one nest, the references sharing the reach. Result i belongs to \p Nest[i].
/// Loops are told apart by SpreadLevel::Loop; without, references of equal depth are taken to sit in the same loops,
/// shorter level lists in the outer ones.
std::vector<SpreadResult> nestSpread(const std::vector<SpreadReference> &Nest,
                                     const SpreadTarget &T);

/// The result of the first reference alone; the others cost little then.
SpreadResult spreadOfFirst(const std::vector<SpreadReference> &Nest, const SpreadTarget &T);

/// Object size in bytes from which walking it costs at least \p MinCycles a access, other sizes being equal, for a
/// reference whose unknown trip counts follow the object's size. Returns UINT64_MAX when no size does.
uint64_t smallestPayingBytes(const SpreadReference &R, const SpreadTarget &T, double MissCycles,
                             double MinCycles);

} // namespace smalloc
#endif
