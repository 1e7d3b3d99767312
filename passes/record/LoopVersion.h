//===- LoopVersion.h - a copy of a loop for recordings --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies a loop with everything inside it. A condition selects the copy or the original.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPVERSION_H
#define SMALLOC_PASSES_LOOPVERSION_H

#include "passes/ir/LlvmVersions.h"
#include "passes/record/TracedAccesses.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace smalloc {

class LoopVersion {
public:
  /// Copies \p L; \p Condition true enters the copy. Both continue where the loop did. \p L is then
  /// entered from another block.
  LoopVersion(llvm::Function &F, RecordedLoop &L, llvm::Value *Condition);

  /// Returns the block from which the copy is entered.
  llvm::BasicBlock *entry() const { return Entry; }
  /// Returns the branch in front of the loop that selects the copy or the original.
  ConditionalBranch *choice() const { return Choice; }
  /// Adds a condition for entering the copy. \p Condition must be known in front of choice().
  void enterOnlyIf(llvm::Value *Condition);
  bool isCopyOf(const llvm::BasicBlock *Block) const { return Of.count(Block) != 0; }
  /// True if \p V exists before the copy starts.
  bool isOutside(const llvm::Value *V) const;
  /// Returns the copy of \p V; \p V itself if it is not in the loop.
  template <class T> T *at(T *V) const {
    llvm::Value *Copy = V ? static_cast<llvm::Value *>(Map.lookup(V)) : nullptr;
    return Copy ? llvm::cast<T>(Copy) : V;
  }

private:
  llvm::ValueToValueMapTy Map;
  llvm::DenseSet<const llvm::BasicBlock *> Of, Copies;
  llvm::BasicBlock *Entry = nullptr;
  ConditionalBranch *Choice = nullptr;
};

} // namespace smalloc
#endif
