//===- WidenedSums.h - extensions of integers inside sums -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites an expression of scalar evolution as if its narrow integers did not overflow. Then the
// expression of a 32-bit index is a recurrence in 64 bits, which the ranges of fills follow.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_WIDENEDSUMS_H
#define SMALLOC_PASSES_WIDENEDSUMS_H

namespace llvm {
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

/// Distributes the extensions of integers in \p S over sums, products and counters, as if these did
/// not overflow: of sext(a + b) it makes sext(a) + sext(b). Only for values that may be wrong.
const llvm::SCEV *widenedSums(const llvm::SCEV *S, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
