//===- LoopWrites.h - writes of a loop to memory that it loads --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds whether a loop writes the memory that a load of it reads at an address that does not move.
// Writes are a store to that very address, a call that gets the memory as an argument, and a call
// that may write a global. Stores and calls that only might alias the load (bytes alias everything)
// count as no write: bounds, strides and fields of structures hardly ever change.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPWRITES_H
#define SMALLOC_PASSES_LOOPWRITES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/PassManager.h"
#include <optional>

namespace llvm {
class Loop;
}

namespace smalloc {

class LoopWrites {
public:
  LoopWrites(llvm::Function &F, llvm::FunctionAnalysisManager &FAM) : F(F), FAM(FAM) {}

  /// Returns the store or call in \p L that writes what \p Load reads, preferably a store; null if
  /// there is none. Cached; the first query of a loop visits all its instructions.
  const llvm::Instruction *writerOf(const llvm::LoadInst &Load, const llvm::Loop &L);

private:
  const llvm::Instruction *find(const llvm::LoadInst &Load, const llvm::Loop &L);

  llvm::Function &F;
  llvm::FunctionAnalysisManager &FAM;
  /// Alias analysis, which is expensive: created by the first load that needs it.
  std::optional<llvm::BatchAAResults> Alias;
  llvm::DenseMap<const llvm::Loop *, llvm::SmallVector<const llvm::Instruction *, 8>> Writers;
  llvm::DenseMap<std::pair<const llvm::LoadInst *, const llvm::Loop *>, const llvm::Instruction *>
      Known;
};

} // namespace smalloc
#endif
