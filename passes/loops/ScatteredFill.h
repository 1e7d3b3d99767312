//===- ScatteredFill.h - does a loop fill an object in no order? ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when stores at random places count as filling an object: they pick among all of its
// elements (a mask, a remainder), and there are at least four for each page. Then one page of fifty
// is left out, which costs less than the page faults.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SCATTEREDFILL_H
#define SMALLOC_PASSES_SCATTEREDFILL_H

#include "passes/loops/LoopAccesses.h"

namespace llvm {
class DominatorTree;
class LoopInfo;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

/// At least one random store per 1,024 bytes is four per 4 KiB page. A page then stays untouched
/// with probability e^-4, 2 %.
constexpr uint64_t ScatteredBytesPerStore = 1024;

/// Is the index of \p Pointer made by a mask, a remainder or a shift, as that of a hash table?
bool spreadsByRemainder(const llvm::Value *Pointer, llvm::ScalarEvolution &SE);

/// The outermost loop that \p R, a store, needs to fill an object of \p Size bytes; null if it does
/// not.
const llvm::Loop *scatteredFill(const LoopReference &R, const llvm::SCEV *Size,
                                llvm::ScalarEvolution &SE, const llvm::DominatorTree &DT,
                                const llvm::LoopInfo &LI);

} // namespace smalloc
#endif
