//===- InstructionCount.h - size of a unit --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the instructions of a unit.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_INSTRUCTIONCOUNT_H
#define SMALLOC_PASSES_INSTRUCTIONCOUNT_H

#include "llvm/IR/Module.h"

namespace smalloc {

/// Returns the number of instructions of \p M. Module::getInstructionCount() takes ten times as
/// long: it tests whether each instruction is a pseudo probe.
inline size_t instructionsOf(const llvm::Module &M) {
  size_t Instructions = 0;
  for (const llvm::Function &F : M)
    for (const llvm::BasicBlock &B : F)
      Instructions += B.size();
  return Instructions;
}

} // namespace smalloc
#endif
