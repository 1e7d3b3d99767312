//===- LoopReference.h - a memory access of a loop --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a load or store that loops repeat: what it accesses, and how its address moves with
// each loop around it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPREFERENCE_H
#define SMALLOC_PASSES_LOOPREFERENCE_H

#include "passes/loops/AddressMotion.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instruction.h"

namespace smalloc {

struct LoopReference {
  llvm::Instruction *Access = nullptr;
  llvm::Value *Pointer = nullptr;
  uint64_t Bytes = 0; ///< bytes of one access (Touch::Bytes)
  bool Writes = false;
  bool Repeated = false; ///< another reference covers its pages: it counts only as a write
  /// Number of the reference's group; 0: none. References of one loop in the same group stay
  /// OffsetBytes from a common origin (the rows above and below).
  unsigned Group = 0;
  int64_t OffsetBytes = 0;
  uint64_t StartBytes = 0; ///< distance of the lowest address from the object's start; 0: unknown
  bool Prefetched = false; ///< the loop prefetches what the reference reaches
  llvm::SmallVector<LoopLevel, 2> Levels; ///< innermost first
  const llvm::Loop *Outermost = nullptr;  ///< null: not in a loop of its function
  /// The innermost loop loads the object's pointer anew in each iteration.
  bool ThroughPointers = false;
  bool Assumed = false; ///< the surrounding loop is an assumption (calls from other units)

  /// Returns the innermost level that the address varies with; null if there is none.
  const LoopLevel *varying() const {
    for (const LoopLevel &Level : Levels)
      if (Level.Kind != Motion::None)
        return &Level;
    return nullptr;
  }
};

} // namespace smalloc
#endif
