//===- CursorSteps.cpp - the steps of irregular cursors ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/CursorSteps.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Assumed length of consecutive records of varying length.
constexpr int64_t RecordBytes = 64;

/// A walk from a phi's values of the next iteration back to the phi.
struct OffsetWalk {
  OffsetWalk(const PHINode *Phi, const Loop *L) {
    for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I)
      if (L->contains(Phi->getIncomingBlock(I)))
        Stack.push_back({Phi->getIncomingValue(I), 0});
  }
  /// Keeps the longest step.
  void arrive(int64_t Offset) {
    if (Offset != 0 && (!Step || std::abs(Offset) > std::abs(*Step)))
      Step = Offset;
  }
  SmallVector<std::pair<const Value *, int64_t>, 16> Stack; ///< values, and the offsets so far
  std::optional<int64_t> Step;
};

/// True if \p By, a number of bytes, is not negative and either a constant or read from the record
/// at \p Place.
bool isRecordLength(const Value *By, const Value *Place, unsigned Depth = 0) {
  if (auto *Constant = dyn_cast<ConstantInt>(By))
    return !Constant->isNegative();
  if (Depth > 4)
    return false;
  if (isa<PHINode, SelectInst>(By))
    return all_of(drop_begin(cast<Instruction>(By)->operands(), isa<SelectInst>(By)),
                  [&](const Use &Op) { return isRecordLength(Op, Place, Depth + 1); });
  const Value *Read = By;
  bool Positive = false;
  for (; isa<BinaryOperator, ZExtInst>(Read); Read = cast<Instruction>(Read)->getOperand(0)) {
    Positive |= isa<ZExtInst>(Read);
    if (isa<ZExtInst>(Read))
      continue;
    auto *Constant = dyn_cast<ConstantInt>(cast<Instruction>(Read)->getOperand(1));
    if (!Constant ||
        (Constant->isNegative() && cast<Instruction>(Read)->getOpcode() != Instruction::And))
      return false;
  }
  auto *Length = dyn_cast<LoadInst>(Read);
  return Positive && Length &&
         getUnderlyingObject(Length->getPointerOperand()) == getUnderlyingObject(Place);
}

} // namespace

bool chasesItself(const PHINode *Phi, const Loop *L) {
  if (!Phi->getType()->isPointerTy() && !Phi->getType()->isIntegerTy())
    return false;
  SmallVector<std::pair<const Value *, bool>, 16> Stack; // value, and whether a load was passed
  SmallPtrSet<const Value *, 32> Seen[2];
  for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I)
    if (L->contains(Phi->getIncomingBlock(I)))
      Stack.push_back({Phi->getIncomingValue(I), false});
  for (unsigned Steps = 0; !Stack.empty() && Steps < 200; ++Steps) {
    auto [V, Loaded] = Stack.pop_back_val();
    if (V == Phi) {
      if (Loaded)
        return true;
      continue;
    }
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I) || !Seen[Loaded].insert(V).second)
      continue;
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      Stack.push_back({Load->getPointerOperand(), true});
    } else if (isa<GetElementPtrInst, PHINode, SelectInst, CastInst, FreezeInst, BinaryOperator>(
                   I)) {
      for (const Use &Op : I->operands())
        Stack.push_back({Op, Loaded});
    }
  }
  return false;
}

std::optional<int64_t> appendStep(const PHINode *Phi, const Loop *L, const DataLayout &DL) {
  if (!Phi->getType()->isPointerTy())
    return std::nullopt;
  OffsetWalk Walk(Phi, L);
  auto &[Stack, Step] = Walk;
  SmallPtrSet<const Value *, 32> Seen;
  bool Allocates = false;
  while (!Stack.empty()) {
    auto [V, Offset] = Stack.pop_back_val();
    if (V == Phi) {
      Walk.arrive(Offset);
      continue;
    }
    if (!Seen.insert(V).second)
      continue;
    if (Seen.size() > 100)
      return std::nullopt;
    if (auto *Call = dyn_cast<CallBase>(V); Call && Call->hasFnAttr(SiteIdAttr)) {
      Allocates = true;
    } else if (auto *G = dyn_cast<GetElementPtrInst>(V); G && L->contains(G)) {
      APInt By(DL.getIndexTypeSizeInBits(G->getType()), 0);
      bool Constant = G->accumulateConstantOffset(DL, By);
      if (!Constant && getUnderlyingObject(G) == Phi)
        return std::nullopt;
      Stack.push_back({G->getPointerOperand(), Constant ? Offset + By.getSExtValue() : Offset});
    } else if (isa<PHINode, SelectInst>(V) && L->contains(cast<Instruction>(V))) {
      for (const Use &Op : cast<Instruction>(V)->operands())
        if (Op->getType()->isPointerTy())
          Stack.push_back({Op, Offset});
    } else if (!isa<ConstantPointerNull>(V)) {
      return std::nullopt;
    }
  }
  if (!Allocates)
    return std::nullopt;
  return Step.value_or(0); // 0: the block's start itself, which moves only with the block
}

std::optional<int64_t> nowAndThenStep(const PHINode *Phi, const Loop *L, const DataLayout &DL) {
  const bool Cursor = Phi->getType()->isPointerTy();
  if (!Cursor && (!Phi->getType()->isIntegerTy() || Phi->getType()->getIntegerBitWidth() > 64))
    return std::nullopt;
  OffsetWalk Walk(Phi, L);
  auto &[Stack, Step] = Walk;
  SmallPtrSet<const Value *, 32> Seen;
  while (!Stack.empty()) {
    auto [V, Offset] = Stack.pop_back_val();
    if (V == Phi) {
      Walk.arrive(Offset);
      continue;
    }
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I) || !Seen.insert(V).second)
      continue;
    if (Seen.size() > 100)
      return std::nullopt;
    const ConstantInt *By = isa<BinaryOperator>(I) && I->getOpcode() == Instruction::Add
                                ? dyn_cast<ConstantInt>(I->getOperand(1))
                                : nullptr;
    if (By) {
      Stack.push_back({I->getOperand(0), Offset + By->getSExtValue()});
    } else if (auto *G = dyn_cast<GetElementPtrInst>(I)) {
      APInt Bytes(DL.getIndexTypeSizeInBits(G->getType()), 0);
      if (G->accumulateConstantOffset(DL, Bytes))
        Stack.push_back({G->getPointerOperand(), Offset + Bytes.getSExtValue()});
      else if (G->getNumIndices() == 1 && isRecordLength(G->getOperand(1), G->getPointerOperand()))
        Stack.push_back({G->getPointerOperand(), Offset + RecordBytes});
      else
        return std::nullopt;
    } else if (isa<PHINode>(I)) {
      for (const Use &Op : I->operands())
        Stack.push_back({Op, Offset});
    } else if (isa<SelectInst>(I)) {
      Stack.push_back({I->getOperand(1), Offset});
      Stack.push_back({I->getOperand(2), Offset});
    } else if (isa<CastInst, FreezeInst>(I)) {
      Stack.push_back({I->getOperand(0), Offset});
    } else {
      return std::nullopt;
    }
  }
  return Step;
}

} // namespace smalloc
