//===- SkipConditions.h - conditions that skip a filling --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises branches that leave a new object unfilled only if it is empty, smaller than a
// superpage, or not there. FullyInitialised.cpp ignores them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SKIPCONDITIONS_H
#define SMALLOC_PASSES_SKIPCONDITIONS_H

#include "llvm/ADT/SmallPtrSet.h"
#include <cstdint>

namespace llvm {
class BasicBlock;
class CallBase;
class DominatorTree;
class ICmpInst;
class LoopInfo;
class PostDominatorTree;
class SCEV;
class ScalarEvolution;
class SwitchInst;
class Value;
} // namespace llvm

namespace smalloc {

/// Most bytes between two written places: such gaps leave no page untouched.
inline constexpr uint64_t MostGapBytes = 256;

/// True if \p Bytes is a constant number of bytes that leaves no page untouched.
bool isSmallGap(const llvm::SCEV *Bytes);

/// The analyses of the allocating function.
struct FunctionAnalyses {
  llvm::ScalarEvolution &SE;
  const llvm::DominatorTree &DT;
  const llvm::PostDominatorTree &PDT;
  const llvm::LoopInfo &LI;
};

/// Recognises the conditions by which a program skips the filling of an object that is empty, that
/// is smaller than a superpage, or that it did not get.
class SkipConditions {
public:
  SkipConditions(const llvm::CallBase &Call, const llvm::BasicBlock *Filling,
                 const llvm::SCEV *Size, const FunctionAnalyses &A);
  /// True if \p Condition makes no other choice. The filling runs if its value is \p Value.
  bool are(const llvm::Value *Condition, bool Value) const;
  /// The same for a switch.
  bool are(const llvm::SwitchInst &Switch) const;

private:
  bool isQuantity(const llvm::Value *V) const;
  bool testsEmpty(const llvm::ICmpInst *Compare) const;
  bool skipsOnlySmall(const llvm::ICmpInst *Compare, bool Value) const;
  bool isSmallUpTo(const llvm::Value *V, uint64_t Limit) const;
  bool isSize(const llvm::SCEV *Compared, const llvm::SCEV *Of) const;
  bool guardsLoop(const llvm::ICmpInst *Compare) const;

  const llvm::BasicBlock *Filling;
  const llvm::SCEV *Size;
  const FunctionAnalyses &A;
  llvm::SmallPtrSet<const llvm::Value *, 8> Quantities;
};

} // namespace smalloc
#endif
