//===- ScatteredFill.h - loops that fill an object in random order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds stores at random places that count as filling an object. They pick among all of its
// elements (a mask, a remainder), and there are at least four for each page. Then one page of fifty
// stays untouched, which costs less than the page faults.
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

/// True if the index of \p Pointer is made by a mask, a remainder or a shift, as a hash table's is.
bool spreadsByRemainder(const llvm::Value *Pointer, llvm::ScalarEvolution &SE);

/// Returns the outermost loop that the store \p R needs to fill an object of \p Size bytes; null if
/// it does not fill it.
const llvm::Loop *scatteredFill(const LoopReference &R, const llvm::SCEV *Size,
                                llvm::ScalarEvolution &SE, const llvm::DominatorTree &DT,
                                const llvm::LoopInfo &LI);

} // namespace smalloc
#endif
