//===- LoopVersion.h - a copy of a loop for recordings ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a loop gets a copy of itself, with all that is inside it, that is entered in its place on a condition.
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
  /// The loop and its copy both go on where the loop did; \p L is then entered from another block.
  LoopVersion(llvm::Function &F, RecordedLoop &L, llvm::Value *Condition);

  /// From which the copy is entered.
  llvm::BasicBlock *entry() const { return Entry; }
  /// In front of the loop, where one or the other is chosen.
  ConditionalBranch *choice() const { return Choice; }
  /// The copy is entered only if this holds, too; it is known in front of choice().
  void enterOnlyIf(llvm::Value *Condition);
  bool isCopyOf(const llvm::BasicBlock *Block) const { return Of.count(Block) != 0; }
  /// Is there before the copy begins?
  bool isOutside(const llvm::Value *V) const;
  /// A value as the copy has it; of what is not in the loop, the value itself.
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
