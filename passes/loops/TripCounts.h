//===- TripCounts.h - the trip counts of loops ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the trip count of a loop. It is a constant, the average of a triangular loop whose count
// moves with the loops around it (for j < i), an estimate from a profile, or an expression. If
// overflow is not excluded, the exit may still give a count by comparing a recurrence with an
// invariant.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_TRIPCOUNTS_H
#define SMALLOC_PASSES_TRIPCOUNTS_H

#include "passes/loops/AddressMotion.h"

namespace smalloc {

/// Finds the trip counts of one function's loops; caches the results.
class TripCounts {
public:
  explicit TripCounts(llvm::ScalarEvolution &SE) : SE(SE) {}
  /// Returns the count of \p L in the fields Counted and Trip to TripMax of a level. No other field
  /// is set.
  const LoopLevel &of(const llvm::Loop *L);
  /// Returns an expression from which the count of \p L follows, if it is known only at run time:
  /// the backedge-taken count, its upper bound, or the bound that an exit compares with. Null:
  /// unknown, or a constant.
  const llvm::SCEV *countOf(const llvm::Loop *L);

private:
  /// Range of a value that runs evenly from one end to the other while a loop runs. The mean weighs
  /// each value by how often it is taken.
  struct Range {
    double Mean, Min, Max;
    const llvm::Loop *Of = nullptr; ///< innermost loop that moves the value
  };
  std::optional<Range> range(const llvm::SCEV *S, unsigned Depth = 0);
  std::optional<Range> rangeOfRecurrence(const llvm::SCEVAddRecExpr *R, unsigned Depth);
  static std::optional<Range> combined(const llvm::SCEVNAryExpr &S, const Range &A, const Range &B);
  LoopLevel compute(const llvm::Loop *L);

  llvm::ScalarEvolution &SE;
  llvm::DenseMap<const llvm::Loop *, LoopLevel> Known;
  llvm::DenseMap<const llvm::Loop *, const llvm::SCEV *> Counts;
};

} // namespace smalloc
#endif
