//===- ScatteredFill.cpp - loops that fill an object in random order --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/fills/ScatteredFill.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/loops/SameValue.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most merges and casts between a use of an index and the operation that makes it.
constexpr unsigned MaxSteps = 6;

/// Returns the number of values that \p Index takes if a mask, a remainder or a shift makes it. To
/// fill an object, it has to be the number of elements. Returns two candidates for a mask, which
/// may be either operand.
SmallVector<const SCEV *, 2> valuesOf(const Value *Index, ScalarEvolution &SE, unsigned Steps = 0) {
  Type *Wide = Type::getInt64Ty(Index->getContext());
  auto *I = dyn_cast<Instruction>(Index);
  if (!I || Steps > MaxSteps)
    return {};
  auto Widened = [&](const Value *V) {
    return SE.getTruncateOrZeroExtend(SE.getSCEV(const_cast<Value *>(V)), Wide);
  };
  switch (I->getOpcode()) {
  case Instruction::And:
    return {SE.getAddExpr(Widened(I->getOperand(1)), SE.getOne(Wide)),
            SE.getAddExpr(Widened(I->getOperand(0)), SE.getOne(Wide))};
  case Instruction::URem:
  case Instruction::SRem:
    return {Widened(I->getOperand(1))};
  case Instruction::LShr:
    if (auto *By = dyn_cast<ConstantInt>(I->getOperand(1));
        By && By->getValue().ult(I->getType()->getIntegerBitWidth()) &&
        I->getType()->getIntegerBitWidth() - By->getZExtValue() < 63)
      return {SE.getConstant(
          Wide, uint64_t(1) << (I->getType()->getIntegerBitWidth() - By->getZExtValue()))};
    return {};
  case Instruction::PHI: // the next place, when a place is occupied
    for (const Value *In : cast<PHINode>(I)->incoming_values())
      if (auto Values = valuesOf(In, SE, Steps + 2); !Values.empty())
        return Values;
    return {};
  case Instruction::ZExt:
  case Instruction::SExt:
  case Instruction::Trunc:
  case Instruction::Freeze:
    return valuesOf(I->getOperand(0), SE, Steps + 1);
  default:
    return {};
  }
}

/// True if \p Pick is true for the only variable index of \p Pointer and its stride.
bool indexDoes(const Value *Pointer, ScalarEvolution &SE,
               function_ref<bool(const Value *, const APInt &)> Pick) {
  const DataLayout &DL = SE.getDataLayout();
  for (unsigned Steps = 0; auto *G = dyn_cast<GEPOperator>(Pointer); ++Steps) {
    GepIndices Variable;
    APInt Constant(DL.getIndexTypeSizeInBits(G->getType()), 0);
    if (Steps > MaxSteps || !G->collectOffset(DL, Constant.getBitWidth(), Variable, Constant))
      return false;
    if (Variable.size() > 1)
      return false;
    if (Variable.size() == 1) {
      auto &[Index, Stride] = *Variable.begin();
      return Pick(Index, Stride);
    }
    Pointer = G->getPointerOperand();
  }
  return false;
}

/// True if \p Pointer picks among all elements of an object of \p Size bytes.
bool picksAnywhere(const Value *Pointer, const SCEV *Size, ScalarEvolution &SE) {
  return indexDoes(Pointer, SE, [&](const Value *Index, const APInt &Stride) {
    const SCEV *Each = SE.getConstant(APInt(64, Stride.getZExtValue()));
    return any_of(valuesOf(Index, SE), [&, Each](const SCEV *Values) {
      const SCEV *Extent = SE.getMulExpr(Each, Values);
      auto *Known = dyn_cast<SCEVConstant>(Extent), *Whole = dyn_cast<SCEVConstant>(Size);
      return Known && Whole
                 ? Known->getAPInt().getLimitedValue() >= Whole->getAPInt().getLimitedValue()
                 : sameSum(Extent, Size, SE);
    });
  });
}

} // namespace

bool spreadsByRemainder(const Value *Pointer, ScalarEvolution &SE) {
  return indexDoes(Pointer, SE,
                   [&](const Value *Index, const APInt &) { return !valuesOf(Index, SE).empty(); });
}

const Loop *scatteredFill(const LoopReference &R, const SCEV *Size, ScalarEvolution &SE,
                          const DominatorTree &DT, const LoopInfo &LI) {
  const Loop *Inner = LI.getLoopFor(R.Access->getParent());
  const BasicBlock *Latch = Inner ? Inner->getLoopLatch() : nullptr;
  const LoopLevel *Moves = R.varying();
  if (!Latch || !Moves || !isUnpredictable(Moves->Kind) ||
      !DT.dominates(R.Access->getParent(), Latch) || !picksAnywhere(R.Pointer, Size, SE))
    return nullptr;
  Type *Wide = Type::getInt64Ty(Latch->getContext());
  const SCEV *Draws = SE.getOne(Wide);
  const Loop *Around = nullptr;
  for (const LoopLevel &L : R.Levels) {
    if (!L.L || !isUnpredictable(L.Kind))
      continue;
    const SCEV *Count = SE.getBackedgeTakenCount(L.L);
    if (isa<SCEVCouldNotCompute>(Count))
      break; // the stores of the loops inside may be enough
    Draws = SE.getMulExpr(Draws,
                          SE.getAddExpr(SE.getTruncateOrZeroExtend(Count, Wide), SE.getOne(Wide)));
    Around = L.L;
  }
  auto *Known = dyn_cast<SCEVConstant>(Draws), *Whole = dyn_cast<SCEVConstant>(Size);
  const bool Enough = Known && Whole
                          ? Known->getAPInt().getLimitedValue() >=
                                Whole->getAPInt().getLimitedValue() / ScatteredBytesPerStore
                          : atLeast(Draws, ScatteredBytesPerStore, Size, SE);
  return Enough ? Around : nullptr;
}

} // namespace smalloc
