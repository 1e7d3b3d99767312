//===- FillRanges.h - ranges that loops fill ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the range that a store and the loops around it fill, if it is known before the loops. The
// store walks the range in steps, or writes all elements of an object in no order.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLRANGES_H
#define SMALLOC_PASSES_FILLRANGES_H

#include "passes/loops/LoopReference.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class DominatorTree;
class LoadInst;
class LoopInfo;
class SCEVAddRecExpr;
} // namespace llvm

namespace smalloc {

/// A range that is about to be written.
struct FillRange {
  const llvm::Loop *Of = nullptr; ///< this loop and its inner loops write the range; null: none
  llvm::Value *Base = nullptr;    ///< the first byte of the range is at Base + Offset
  const llvm::SCEV *Offset = nullptr;
  const llvm::SCEV *Bytes = nullptr;   ///< from the first to the last byte; null: the whole object
  const llvm::SCEV *Written = nullptr; ///< lower bound of the bytes written in the range
  /// Set: there is a range at Offset behind each of the Count pointers at this address. Base is the
  /// load of one of them in the loop.
  const llvm::SCEV *Pointers = nullptr;
  uint64_t Count = 0;
  /// Outer loops of Of that write the range, too. Offset and Bytes hold in their first iteration.
  llvm::SmallVector<const llvm::Loop *, 2> Around = {};
  /// Values in Offset, Bytes and Written that may be known only in Of. They are those of fields,
  /// which can be loaded before it (KnownFields.h).
  llvm::SmallVector<llvm::Value *, 4> Fields = {};
};

/// Finds the ranges of one function.
class FillRanges {
public:
  FillRanges(llvm::Function &F, llvm::ScalarEvolution &SE, const llvm::DominatorTree &DT,
             const llvm::LoopInfo &LI)
      : F(F), SE(SE), DT(DT), LI(LI) {}
  /// Returns the range that the store \p R is about to write; without a loop if it is not known.
  FillRange of(const LoopReference &R) const;

private:
  FillRange orderedRange(const LoopReference &R) const;
  FillRange rangeOfEach(const LoopReference &R) const;
  FillRange scatteredRange(const LoopReference &R) const;
  FillRange extendedByFields(const FillRange &Known, const llvm::BasicBlock &Block,
                             uint64_t Bytes) const;
  bool extend(FillRange &Known, const llvm::SCEVAddRecExpr &Rec, const llvm::SCEV *Trips,
              const llvm::BasicBlock &Block, uint64_t Bytes) const;
  const llvm::SCEV *tripsOf(const llvm::Loop &L) const;
  const llvm::SCEV *mostTripsOf(const llvm::Loop &L) const;
  bool isKnownBefore(llvm::Value *Base, const llvm::Loop &L) const;

  llvm::Function &F;
  llvm::ScalarEvolution &SE;
  const llvm::DominatorTree &DT;
  const llvm::LoopInfo &LI;
};

} // namespace smalloc
#endif
