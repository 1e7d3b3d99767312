//===- MemoryTouches.h - what one instruction reads and writes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which addresses an instruction touches: loads, stores, atomics, copies and fills, masked accesses, gathers and
// scatters, generic ones and the target's own.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMORYTOUCHES_H
#define SMALLOC_PASSES_MEMORYTOUCHES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instruction.h"

namespace smalloc {

/// One way in which an instruction touches memory.
struct Touch {
  llvm::Value *Pointer;
  uint64_t Bytes;
  bool Writes;          ///< and surely writes all of Bytes
  bool Gathers = false; ///< addresses of a vector: each one of its own
  bool Walks = false;   ///< a copy of unknown length: on from Pointer in steps of Bytes
};

/// All of \p I's touches; none for an instruction that accesses no memory, or in a way that is not known.
llvm::SmallVector<Touch, 2> touchesOf(llvm::Instruction &I);

} // namespace smalloc
#endif
