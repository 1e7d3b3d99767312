//===- RecordingFilters.h - tests in line before an access is told ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by which instructions a program finds out whether an access is to be told: is it on another page than the time before, is its
// region sampled. What is not told costs a few of them and no call.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_RECORDINGFILTERS_H
#define SMALLOC_PASSES_RECORDINGFILTERS_H

#include "passes/record/RecordingCallbacks.h"
#include "passes/record/TracedAccesses.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class AllocaInst;
} // namespace llvm

namespace smalloc {

struct RegionIndex;

/// Of one function.
class RecordingFilters {
public:
  RecordingFilters(llvm::Function &F, RecordingCallbacks &G);

  /// Where the accesses of a run stay on their pages: Span values of the counter from Low on. Last: where each of them was.
  struct Window {
    llvm::AllocaInst *Low = nullptr, *Span = nullptr;
    llvm::SmallVector<llvm::AllocaInst *, 4> Last;
  };
  Window windowOf(const RecordedRun &R);
  /// Where an access was last, in whatever version of its loop.
  llvm::AllocaInst *lastOf(const RecordedAccess &A);
  /// Where a walk's references ended.
  llvm::SmallVector<llvm::AllocaInst *, 4> ends(const RecordedWalk &W);

  /// An access, if its region is sampled; of one that has a \p Last, if its page is another one, too.
  void tell(const RecordedAccess &A, llvm::AllocaInst *Last);
  /// The same by the byte of its region; \p Base: that of what is indexed. It holds for the region behind it, too: their offsets in their
  /// regions may add up to more than one.
  void tellByRegion(const RecordedAccess &A, const RegionIndex &At, llvm::Value *Base);
  /// Sampled or not.
  void tellOtherPage(const RecordedAccess &A, llvm::AllocaInst *Last);
  /// All of a run, where its counter leaves the window; then there is another one. Every: sampled or not.
  void tellRun(const RecordedRun &R, const Window &W, bool Every);
  /// Only if some reference leaves the page where its last walk ended.
  void tellWalk(const RecordedWalk &W, llvm::ArrayRef<llvm::AllocaInst *> Last);
  /// memcpy and its like: their length in bytes, told in steps of 16.
  void tellBlock(const RecordedWalk &W);

  /// Puts what is remembered into registers. Nothing may be told after that.
  void finish();

private:
  llvm::AllocaInst *slot(llvm::Type *T, int64_t Initially, bool Register = true);
  llvm::Instruction *seldom(llvm::Value *Condition, llvm::Instruction *Before,
                            llvm::MDNode *Weights = nullptr);
  llvm::Value *sampled(llvm::IRBuilder<> &B, llvm::Value *Address);
  llvm::Value *sampledBetween(llvm::IRBuilder<> &B, llvm::Value *Start, llvm::Value *End);
  llvm::Value *otherPage(llvm::IRBuilder<> &B, llvm::Value *Address, llvm::AllocaInst *Slot);
  llvm::Instruction *onOtherPage(llvm::Instruction *Before, llvm::Value *Address,
                                 llvm::AllocaInst *Last);
  void tell(const RecordedAccess &A, llvm::Value *Pointer, llvm::Value *Lane,
            llvm::AllocaInst *Last);
  llvm::AllocaInst *area();

  llvm::Function &F;
  RecordingCallbacks &G;
  llvm::Type *I64;
  llvm::Value *Threshold;
  llvm::MDNode *Unlikely, *Seldom;
  llvm::AllocaInst *Area = nullptr;
  llvm::SmallVector<llvm::AllocaInst *, 16> Slots;
  llvm::DenseMap<const RecordedAccess *, llvm::AllocaInst *> Last;
  llvm::DenseMap<const RecordedWalk *, llvm::SmallVector<llvm::AllocaInst *, 4>> LastEnds;
};

} // namespace smalloc
#endif
