//===- SameValue.h - compares expressions of scalar evolution ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares expressions of scalar evolution for equality. Ignores sign and zero extensions,
// truncations and the guards of trip counts. The result is for estimates: a wrong "equal" costs
// memory, never correctness.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SAMEVALUE_H
#define SMALLOC_PASSES_SAMEVALUE_H

#include "llvm/ADT/SmallVector.h"
#include <utility>

namespace llvm {
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

/// Returns \p S without extensions, truncations and the guards of trip counts ("at least 1").
const llvm::SCEV *bare(const llvm::SCEV *S);

/// A product of a constant factor and symbols; a sum counts as one symbol. A symbol may stand for 2
/// to its power.
struct Product {
  int64_t Factor = 1;
  llvm::SmallVector<std::pair<const llvm::SCEV *, bool>, 4> Symbols; // expression, power of two
  bool Valid = true;
};
/// Returns \p S as a product; its Valid is false if a number is too large.
Product productOf(const llvm::SCEV *S, llvm::ScalarEvolution &SE);

/// True if \p A and \p B are equal up to extensions. Merged values are equal if they are on each
/// way into the merge. Divisions by a small constant have no remainder, as the size of a range of
/// elements.
bool sameSum(const llvm::SCEV *A, const llvm::SCEV *B, llvm::ScalarEvolution &SE,
             unsigned Depth = 0);

/// Returns size / element for (size - element) / element + 1, the number of iterations over a range
/// of elements; else \p Count itself.
const llvm::SCEV *wholeElements(const llvm::SCEV *Count, llvm::ScalarEvolution &SE);

/// True if \p A times \p Times is certainly at least \p B. Compares only products of the same
/// symbols.
bool atLeast(const llvm::SCEV *A, uint64_t Times, const llvm::SCEV *B, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
