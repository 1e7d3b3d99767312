//===- AppendedFill.h - loops that append to a reserved object --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds loops that append one element in each iteration, as push_back after reserve does: the
// pointer to the next element moves, unless it has reached the end of the memory. Then the loop
// goes on in new memory.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_APPENDEDFILL_H
#define SMALLOC_PASSES_APPENDEDFILL_H

#include "passes/loops/LoopAccesses.h"

namespace llvm {
class DominatorTree;
class LoopInfo;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

/// The elements that a loop appends, if the memory does not end before.
struct Appended {
  const llvm::Loop *Of;
  const llvm::Value *Start;  ///< address of the first element
  const llvm::SCEV *Written; ///< bytes of all iterations, 64 bits
};

/// Returns what the store \p R appends; nothing if it does not append in each iteration, or if the
/// number of iterations is not known before the loop.
std::optional<Appended> appendedBy(const LoopReference &R, llvm::ScalarEvolution &SE,
                                   const llvm::DominatorTree &DT, const llvm::LoopInfo &LI);

} // namespace smalloc
#endif
