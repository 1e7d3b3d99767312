//===- MemoryTouches.h - the memory that an instruction accesses ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the addresses that an instruction accesses: loads, stores, atomics, copies and fills,
// masked accesses, gathers and scatters, both generic ones and the target's own. Also finds calls
// that fill a run of bytes.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMORYTOUCHES_H
#define SMALLOC_PASSES_MEMORYTOUCHES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// One memory access of an instruction.
struct Touch {
  llvm::Value *Pointer;
  uint64_t Bytes;
  bool Writes;          ///< writes, and surely all of Bytes
  bool Gathers = false; ///< a vector of unrelated addresses
  bool Walks = false;   ///< a copy of unknown length, from Pointer in steps of Bytes
};

/// Returns all touches of \p I. Empty if it accesses no memory, or in an unknown way.
llvm::SmallVector<Touch, 2> touchesOf(llvm::Instruction &I);

/// A call that writes a run of bytes: memset, memcpy, or input by read, recv, fread and their
/// forms.
struct Fill {
  llvm::CallBase *Call = nullptr; ///< the call; null: no fill
  llvm::Value *To = nullptr;
  llvm::Value *Bytes = nullptr;
  llvm::Value *Count = nullptr; ///< number of records of Bytes each; null: one
};
Fill fillOf(llvm::CallBase &Call);

} // namespace smalloc
#endif
