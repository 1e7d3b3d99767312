//===- SameValue.h - do two expressions mean the same number? ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when two expressions of scalar evolution are taken to be the same number: up to sign and zero extensions,
// truncations and the guards that trip counts have. For estimates, where a wrong "yes" costs memory, never correctness.
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

/// \p S without extensions, truncations and the guards "at least 0 (1)" of trip counts.
const llvm::SCEV *bare(const llvm::SCEV *S);

/// A product as constant factor times symbols; sums count as one symbol each. A symbol may stand for 2 to its power.
struct Product {
  int64_t Factor = 1;
  llvm::SmallVector<std::pair<const llvm::SCEV *, bool>, 4> Symbols; // expression, power of two
  bool Valid = true;
};
Product productOf(const llvm::SCEV *S, llvm::ScalarEvolution &SE);

/// Equal up to extensions; of merged values, on each way into the merge.
bool sameSum(const llvm::SCEV *A, const llvm::SCEV *B, llvm::ScalarEvolution &SE,
             unsigned Depth = 0);

/// Is \p A \p Times over surely no less than \p B? Of products with the same symbols.
bool atLeast(const llvm::SCEV *A, uint64_t Times, const llvm::SCEV *B, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
