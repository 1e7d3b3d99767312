//===- LoopAccesses.h - how loops walk memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for each load and store inside loops, how its address moves with every enclosing loop and how often each
// loop runs. Scalar evolution does the work, with two optimistic rules (an estimate is wanted, not a proof):
//  1. sign and zero extension of a recurrence is the recurrence;
//  2. a load from a loop-invariant address (struct field, Fortran descriptor, begin/end of a vector) is invariant.
// What is left is told apart into gathers (the address depends on a value loaded at a moving address), pointer chases
// (a pointer loaded through itself) and other irregular addresses (hashes, generators).
//
// Recursion over a structure (a function that calls itself with a pointer loaded through its argument) counts as a
// loop around its body, and a function called from a loop of the unit has that loop around its nests.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LOOPACCESSES_H
#define SMALLOC_PASSES_LOOPACCESSES_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/PassManager.h"
#include <optional>
#include <vector>

namespace llvm {
class Loop;
class LoopInfo;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace smalloc {

enum class Motion {
  None,      ///< the address does not vary with the loop
  Constant,  ///< StrideBytes each iteration
  Symbolic,  ///< a stride that is known at run time only
  Gather,    ///< through a value loaded at a moving address
  Chase,     ///< a pointer loaded through itself
  Irregular, ///< anything else: hashes, generators, results of calls
};

inline bool isUnpredictable(Motion M) { return M >= Motion::Gather; }

struct LoopLevel {
  const llvm::Loop *L = nullptr; ///< null: recursion or a caller's loop
  Motion Kind = Motion::None;
  int64_t StrideBytes = 0;              ///< for Motion::Constant
  std::optional<uint64_t> Trip;         ///< constant, or estimated from a profile
  const llvm::SCEV *TripScev = nullptr; ///< symbolic count of iterations; null: unknown
};

struct LoopReference {
  llvm::Instruction *Access = nullptr;
  llvm::Value *Pointer = nullptr;
  uint64_t Bytes = 0;
  bool Writes = false;
  bool Repeated = false; ///< another reference covers its pages: counts as a write only
  llvm::SmallVector<LoopLevel, 4> Levels; ///< innermost first
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

/// How \p S, an address or a value of F, moves with \p L.
LoopLevel motionOf(const llvm::SCEV *S, const llvm::Loop *L, llvm::ScalarEvolution &SE);

} // namespace smalloc
#endif
