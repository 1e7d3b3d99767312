//===- MemoryTouches.h - what one instruction reads and writes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which addresses an instruction touches: loads, stores, atomics, copies and fills, masked accesses, gathers and
// scatters, generic ones and the target's own; and which calls fill a run of bytes.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMORYTOUCHES_H
#define SMALLOC_PASSES_MEMORYTOUCHES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"

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

/// A call that writes a run of bytes: memset, memcpy, or input by read, recv, fread and their
/// forms.
struct Fill {
  llvm::CallBase *Call = nullptr; ///< null: none
  llvm::Value *To = nullptr;
  llvm::Value *Bytes = nullptr;
  llvm::Value *Count = nullptr; ///< of records of Bytes each; null: one
};
Fill fillOf(llvm::CallBase &Call);

} // namespace smalloc
#endif
