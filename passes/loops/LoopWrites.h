//===- LoopWrites.h - does a loop change what it loads? ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether a loop writes the memory that a load of it reads at an address that does not
// move: a store to that very address, a call that is handed the memory, a call that may write a
// global. Stores and calls that only might meet it (bytes alias everything) are taken not to:
// bounds, strides and fields of structures hardly ever change.
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

  /// The store or call of \p L that writes what \p Load reads; a store before a call, null if none.
  const llvm::Instruction *writerOf(const llvm::LoadInst &Load, const llvm::Loop &L);

private:
  const llvm::Instruction *find(const llvm::LoadInst &Load, const llvm::Loop &L);

  llvm::Function &F;
  llvm::FunctionAnalysisManager &FAM;
  std::optional<llvm::BatchAAResults>
      Alias; ///< alias analysis costs: only where a load asks for it
  llvm::DenseMap<const llvm::Loop *, llvm::SmallVector<const llvm::Instruction *, 8>> Writers;
  llvm::DenseMap<std::pair<const llvm::LoadInst *, const llvm::Loop *>, const llvm::Instruction *>
      Known;
};

} // namespace smalloc
#endif
