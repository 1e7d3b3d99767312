//===- TripCounts.h - how often a loop runs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many iterations a loop has: a constant, the average of a triangular loop whose count moves with the loops
// around it (for j < i), an estimate from a profile, or an expression; also where overflow is not excluded: the exit
// compares a recurrence with an invariant.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_TRIPCOUNTS_H
#define SMALLOC_PASSES_TRIPCOUNTS_H

#include "passes/loops/AddressMotion.h"

namespace smalloc {

/// The counts of one function's loops; remembers what it was asked.
class TripCounts {
public:
  explicit TripCounts(llvm::ScalarEvolution &SE) : SE(SE) {}
  /// Fields Trip to TripMax of a level; nothing else of it is set.
  const LoopLevel &of(const llvm::Loop *L);
  /// The count of \p L, known at run time only; null: unknown, or a constant.
  const llvm::SCEV *countOf(const llvm::Loop *L);

private:
  /// A value that runs evenly from one end to the other while a loop runs; weighted by how often it is taken.
  struct Range {
    double Mean, Min, Max;
    const llvm::Loop *Of = nullptr; ///< the innermost loop that moves it
  };
  std::optional<Range> range(const llvm::SCEV *S, unsigned Depth = 0);
  LoopLevel compute(const llvm::Loop *L);

  llvm::ScalarEvolution &SE;
  llvm::DenseMap<const llvm::Loop *, LoopLevel> Known;
  llvm::DenseMap<const llvm::Loop *, const llvm::SCEV *> Counts;
};

} // namespace smalloc
#endif
