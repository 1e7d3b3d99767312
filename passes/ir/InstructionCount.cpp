//===- InstructionCount.cpp - how large is a unit? -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ir/InstructionCount.h"

using namespace llvm;

namespace smalloc {

size_t instructionsOf(const Module &M) {
  size_t Instructions = 0;
  for (const Function &F : M)
    for (const BasicBlock &B : F)
      Instructions += B.size();
  return Instructions;
}

} // namespace smalloc
