//===- WidenedSums.h - extensions of integers inside sums -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
