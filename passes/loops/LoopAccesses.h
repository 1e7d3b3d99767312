//===- LoopAccesses.h - the memory accesses of loops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the loads and stores inside loops. For each one finds how its address moves with every
// enclosing loop (AddressMotion) and how often each loop runs (TripCounts). Also finds groups of
// references at a fixed distance from each other, and whether the program prefetches what a
// reference reaches.
//
// Recursion over a structure counts as a loop around the function's body: a function that calls
// itself with a pointer loaded through its argument. A function called from a loop of the unit has
// that loop around its nests.
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
  const LoopLevel *varying() const;
};

/// Returns the functions that a loop of this unit calls, directly or through other functions of the
/// unit.
llvm::DenseSet<const llvm::Function *> functionsCalledInLoops(llvm::Module &M,
                                                              llvm::FunctionAnalysisManager &FAM);

/// Returns all references of \p F that a loop or recursion repeats. References to the same window
/// of \p PageBytes of the same recurrence (a[i-1], a[i], a[i+1]) are listed once. \p CalledInLoop:
/// a loop of the unit calls \p F.
std::vector<LoopReference> loopReferences(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                                          bool CalledInLoop, uint64_t PageBytes);

} // namespace smalloc
#endif
