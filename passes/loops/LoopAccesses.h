//===- LoopAccesses.h - how loops walk memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for each load and store inside loops, how its address moves with every enclosing loop (AddressMotion) and how
// often each loop runs (TripCounts); which references stay at a fixed distance from each other (groups); and whether the
// program prefetches what they reach.
//
// Recursion over a structure (a function that calls itself with a pointer loaded through its argument) counts as a
// loop around its body, and a function called from a loop of the unit has that loop around its nests.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPACCESSES_H
#define SMALLOC_PASSES_LOOPACCESSES_H

#include "passes/loops/AddressMotion.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/PassManager.h"
#include <vector>

namespace smalloc {

struct LoopReference {
  llvm::Instruction *Access = nullptr;
  llvm::Value *Pointer = nullptr;
  uint64_t Bytes = 0;
  bool Writes = false;
  bool Repeated = false; ///< another reference covers its pages: counts as a write only
  /// References of one loop with the same number stay OffsetBytes from a common origin (the rows above and below);
  /// 0: none does.
  unsigned Group = 0;
  int64_t OffsetBytes = 0;
  uint64_t StartBytes = 0; ///< of the lowest address, from the start of the object; 0: not known
  bool Prefetched = false; ///< the loop prefetches what it reaches
  llvm::SmallVector<LoopLevel, 2> Levels; ///< innermost first
  const llvm::Loop *Outermost = nullptr;  ///< null: not in a loop of its function
  bool ThroughPointers =
      false;            ///< the object's pointer itself is loaded anew by the innermost loop
  bool Assumed = false; ///< the surrounding loop is an assumption (calls from other units)

  /// Innermost level that the address varies with; null if none.
  const LoopLevel *varying() const;
};

/// Functions that a loop of this unit calls, directly or through other functions of the unit.
llvm::DenseSet<const llvm::Function *> functionsCalledInLoops(llvm::Module &M,
                                                              llvm::FunctionAnalysisManager &FAM);

/// All references of \p F that some loop (or recursion) repeats; references to the same page-sized window of the
/// same recurrence (a[i-1], a[i], a[i+1]) once.
std::vector<LoopReference> loopReferences(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes);

} // namespace smalloc
#endif
