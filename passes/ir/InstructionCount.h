//===- InstructionCount.h - how large is a unit? -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the instructions of a unit.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_INSTRUCTIONCOUNT_H
#define SMALLOC_PASSES_INSTRUCTIONCOUNT_H

#include "llvm/IR/Module.h"

namespace smalloc {

/// Returns the instructions of \p M. Module::getInstructionCount() asks of each of them whether it is a
/// pseudo probe, which takes ten times as long.
size_t instructionsOf(const llvm::Module &M);

} // namespace smalloc
#endif
