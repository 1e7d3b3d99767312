//===- FloatMotion.cpp - how numbers of floating point move with a loop -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar evolution does not know floating point. But programs compute indices in it: the cell of a
// particle, the entry of a table for an energy, the pixel behind a scaled coordinate. So the motion
// follows from the operations. Sums, factors, rounding and square roots keep the order of their
// operand, and a number that grows by a step walks in order. Other functions of a number that moves
// scatter. Strides are elements, rounded; a step, or a factor that is not constant, counts as one.
//===----------------------------------------------------------------------===//
#include "passes/loops/AddressMotion.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

/// Returns \p Walk with its stride times \p Factor, at least one element an iteration.
LoopLevel scaled(const LoopLevel &Walk, double Factor) {
  constexpr double Longest = 0x1p62;
  if (Walk.Kind != Motion::Constant)
    return Walk;
  const double Stride = std::round(static_cast<double>(Walk.StrideBytes) * Factor);
  if (!(std::fabs(Stride) < Longest)) // also if Stride is no number
    return motionLevel(Motion::Symbolic);
  return motionLevel(Motion::Constant, Stride == 0 ? 1 : static_cast<int64_t>(Stride));
}

/// Returns the value of \p V, or \p Otherwise if it is no constant.
double valueOr(const Value *V, double Otherwise) {
  auto *C = dyn_cast<ConstantFP>(V);
  return C && (C->getType()->isDoubleTy() || C->getType()->isFloatTy())
             ? C->getValueAPF().convertToDouble()
             : Otherwise;
}

/// True if \p V adds a number to \p Phi, subtracts one, or subtracts \p Phi from one.
bool isStepOf(const Value *V, const PHINode &Phi) {
  auto *I = dyn_cast<Instruction>(V);
  return I && (I->getOpcode() == Instruction::FAdd || I->getOpcode() == Instruction::FSub) &&
         is_contained(I->operands(), &Phi);
}

} // namespace

/// Returns the motion of \p V, a number of floating point.
LoopLevel MotionQuery::ofFloat(Value *V, unsigned Depth) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L->contains(I))
    return motionLevel(Motion::None);
  Unsettled += Depth >= MaxMotionDepth;
  if (Depth > MaxMotionDepth)
    return motionLevel(Motion::Irregular);
  // As in of(): a number that depends on itself is irregular.
  auto [It, New] = KnownFloats.try_emplace(V, Answer{motionLevel(Motion::Irregular)});
  if (!New) {
    Unsettled += !It->second.Settled;
    return It->second.Level;
  }
  const unsigned Before = Unsettled;
  const LoopLevel Found = ofFloatInstruction(*I, Depth);
  KnownFloats[V] = {Found, Unsettled == Before};
  if (Unsettled != Before)
    PassingFloats.push_back(V);
  return Found;
}

LoopLevel MotionQuery::ofFloatInstruction(Instruction &I, unsigned Depth) {
  switch (I.getOpcode()) {
  case Instruction::Load:
    return ofValue(&I, Depth);
  case Instruction::FNeg:
  case Instruction::FPExt:
  case Instruction::FPTrunc:
  case Instruction::Freeze:
    return ofFloat(I.getOperand(0), Depth + 1);
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    return SE.isSCEVable(I.getOperand(0)->getType()) ? of(SE.getSCEV(I.getOperand(0)), Depth + 1)
                                                     : motionLevel(Motion::Irregular);
  case Instruction::FAdd:
  case Instruction::FSub:
    return motionSum(ofFloat(I.getOperand(0), Depth + 1), ofFloat(I.getOperand(1), Depth + 1));
  case Instruction::FMul:
    return ofFloatProduct(I.getOperand(0), I.getOperand(1), Depth);
  case Instruction::FDiv:
    return ofFloatQuotient(I.getOperand(0), I.getOperand(1), Depth);
  case Instruction::Select: {
    const LoopLevel A = ofFloat(I.getOperand(1), Depth + 1);
    const LoopLevel B = ofFloat(I.getOperand(2), Depth + 1);
    return A.Kind < B.Kind ? B : A;
  }
  case Instruction::PHI:
    return ofFloatPhi(cast<PHINode>(I), Depth);
  case Instruction::Call:
    return ofFloatCall(cast<CallBase>(I), Depth);
  default:
    return motionLevel(Motion::Irregular);
  }
}

LoopLevel MotionQuery::ofFloatProduct(Value *A, Value *B, unsigned Depth) {
  const LoopLevel Left = ofFloat(A, Depth + 1), Right = ofFloat(B, Depth + 1);
  if (isUnpredictable(Left.Kind) || isUnpredictable(Right.Kind))
    return motionSum(Left, Right);
  if (Left.Kind != Motion::None && Right.Kind != Motion::None)
    return motionLevel(Motion::Irregular);
  return Right.Kind == Motion::None ? scaled(Left, valueOr(B, 1)) : scaled(Right, valueOr(A, 1));
}

LoopLevel MotionQuery::ofFloatQuotient(Value *A, Value *B, unsigned Depth) {
  const LoopLevel Above = ofFloat(A, Depth + 1), Below = ofFloat(B, Depth + 1);
  if (isUnpredictable(Above.Kind) || isUnpredictable(Below.Kind))
    return motionSum(Above, Below);
  return Below.Kind == Motion::None ? scaled(Above, 1 / valueOr(B, 1))
                                    : motionLevel(Motion::Irregular);
}

/// Returns the motion of a recurrence, a merge, or the header phi of an inner loop: the worst of
/// its inputs. An input that adds a step to \p Phi counts by the motion of the step. So does a step
/// minus \p Phi, which goes back and forth.
LoopLevel MotionQuery::ofFloatPhi(const PHINode &Phi, unsigned Depth) {
  const bool Own = Phi.getParent() == L->getHeader();
  LoopLevel Worst = motionLevel(Motion::None);
  for (unsigned K = 0; K < Phi.getNumIncomingValues(); ++K) {
    Value *In = Phi.getIncomingValue(K);
    if (In == &Phi)
      continue;
    const bool Steps = isStepOf(In, Phi);
    LoopLevel M;
    if (Steps) {
      auto *Step = cast<Instruction>(In);
      const bool First = Step->getOperand(0) == &Phi;
      M = ofFloat(Step->getOperand(First), Depth + 1);
      // A step that does not move walks in order; a loop inside L returns to the start.
      if (!isUnpredictable(M.Kind) && (First || Step->getOpcode() == Instruction::FAdd || !Own))
        M = Own ? motionLevel(Motion::Constant, 1) : motionLevel(Motion::None);
    } else {
      M = ofFloat(In, Depth + 1);
    }
    if (M.Kind > Worst.Kind)
      Worst = M;
  }
  return Worst;
}

LoopLevel MotionQuery::ofFloatCall(const CallBase &Call, unsigned Depth) {
  switch (Call.getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    return motionSum(ofFloatProduct(Call.getArgOperand(0), Call.getArgOperand(1), Depth),
                     ofFloat(Call.getArgOperand(2), Depth + 1));
  case Intrinsic::not_intrinsic:
    return motionLevel(Motion::Irregular); // generators, and functions that scatter
  default:
    break;
  }
  LoopLevel Worst = motionLevel(Motion::None);
  for (Value *Op : Call.args())
    if (Op->getType()->isFloatingPointTy())
      if (const LoopLevel M = ofFloat(Op, Depth + 1); M.Kind > Worst.Kind)
        Worst = M;
  switch (Call.getIntrinsicID()) {
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::fabs:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::sqrt:
    return Worst;
  default:
    return Worst.Kind == Motion::None || isUnpredictable(Worst.Kind)
               ? Worst
               : motionLevel(Motion::Irregular);
  }
}

} // namespace smalloc
