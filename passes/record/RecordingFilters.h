//===- RecordingFilters.h - inline tests before a recording ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the tests that filter accesses before they are recorded: a move to another page since the
// last time, and membership of its region in the sample. A filtered access costs a few instructions
// and no call.
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

/// The filters of one function.
class RecordingFilters {
public:
  RecordingFilters(llvm::Function &F, RecordingCallbacks &G);

  /// The counter values for which the accesses of a run stay on their pages: Span values from Low
  /// on. Last holds the address with which each access last entered a page.
  struct Window {
    llvm::AllocaInst *Low = nullptr, *Span = nullptr;
    llvm::SmallVector<llvm::AllocaInst *, 4> Last;
  };
  Window windowOf(const RecordedRun &R);
  /// Returns the variable with the last address of \p A, shared by all versions of its loop.
  llvm::AllocaInst *lastOf(const RecordedAccess &A);
  /// Returns the variables with the last end of each reference of \p W.
  llvm::SmallVector<llvm::AllocaInst *, 4> ends(const RecordedWalk &W);

  /// Records \p A if its region is sampled. With \p Last, its page must also differ from the last
  /// one.
  void tell(const RecordedAccess &A, llvm::AllocaInst *Last);
  /// Records \p A if the byte of its region shows that it may be sampled. \p Base is the byte of
  /// the indexed object. A byte also covers the next region: the offsets of base and index in their
  /// regions may add up to more than one region.
  void tellByRegion(const RecordedAccess &A, const RegionIndex &At, llvm::Value *Base);
  /// Records \p A if its page differs from the last one, sampled or not.
  void tellOtherPage(const RecordedAccess &A, llvm::AllocaInst *Last);
  /// Records all accesses of \p R if its counter leaves the window, and computes the next window.
  /// \p Every: records them even if they are not sampled.
  void tellRun(const RecordedRun &R, const Window &W, bool Every);
  /// Records \p W only if a reference leaves the page where its last walk ended.
  void tellWalk(const RecordedWalk &W, llvm::ArrayRef<llvm::AllocaInst *> Last);
  /// Records a memcpy or similar call, whose length is in bytes, in steps of 16 bytes.
  void tellBlock(const RecordedWalk &W);

  /// Moves the remembered values into registers. No access may be recorded after that.
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
