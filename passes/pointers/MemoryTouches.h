//===- MemoryTouches.h - the memory that an instruction accesses ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the addresses that an instruction accesses: loads, stores, atomics, copies and fills,
// generic masked accesses, and gathers and scatters, of which the target may have its own. Also
// finds calls that fill a run of bytes.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_MEMORYTOUCHES_H
#define SMALLOC_PASSES_MEMORYTOUCHES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// One memory access of an instruction.
struct Touch {
  llvm::Value *Pointer;
  uint64_t Bytes;       ///< of a copy or fill: at most 4096; of a gather or masked access: 8
  bool Writes;          ///< writes, and surely all of Bytes
  bool Gathers = false; ///< a vector of unrelated addresses
  bool Walks = false;   ///< a copy or fill of unknown length, from Pointer in steps of Bytes
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
/// Returns the fill that \p Call is; its Call is null if \p Call is none.
Fill fillOf(llvm::CallBase &Call);

} // namespace smalloc
#endif
