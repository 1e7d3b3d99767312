//===- RequestedSize.cpp - the size in an allocation call's argument --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/sites/RequestedSize.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

/// Returns the value if \p Size selects between a value and a constant that is at most \p Most (-1
/// if \p Most is 0). Else returns \p Size.
static Value *withoutConstant(Value *Size, uint64_t Most) {
  auto *Select = dyn_cast<SelectInst>(Size);
  auto Matches = [&](const Value *V) {
    auto *C = dyn_cast<ConstantInt>(V);
    return C && (Most ? C->getValue().ule(Most) : C->isMinusOne());
  };
  if (Select && Matches(Select->getTrueValue()))
    return Select->getFalseValue();
  return Select && Matches(Select->getFalseValue()) ? Select->getTrueValue() : Size;
}

Value *withoutOverflowCheck(Value *Size) { return withoutConstant(Size, 0); }

/// Returns \p Bytes without rounding up to a multiple of at most a page.
static const SCEV *withoutRoundingUp(const SCEV *Bytes, ScalarEvolution &SE) {
  constexpr uint64_t LargestMultiple = 4096;
  auto *Product = dyn_cast<SCEVMulExpr>(Bytes);
  auto *Unit = Product && Product->getNumOperands() == 2
                   ? dyn_cast<SCEVConstant>(Product->getOperand(0))
                   : nullptr;
  if (!Unit || Unit->getAPInt().ugt(LargestMultiple))
    return Bytes;
  const SCEV *Units = Product->getOperand(1);
  while (auto *Cast = dyn_cast<SCEVIntegralCastExpr>(Units))
    Units = Cast->getOperand();
  auto *Quotient = dyn_cast<SCEVUDivExpr>(Units);
  auto *By = Quotient ? dyn_cast<SCEVConstant>(Quotient->getRHS()) : nullptr;
  auto *Sum = By ? dyn_cast<SCEVAddExpr>(Quotient->getLHS()) : nullptr;
  auto *Up = Sum ? dyn_cast<SCEVConstant>(Sum->getOperand(0)) : nullptr;
  if (!Up || Sum->getType() != Bytes->getType() || By->getAPInt().ugt(LargestMultiple) ||
      !Up->getAPInt().ult(By->getAPInt()) ||
      Unit->getAPInt().getZExtValue() % By->getAPInt().getZExtValue() != 0)
    return Bytes;
  const uint64_t Times = Unit->getAPInt().getZExtValue() / By->getAPInt().getZExtValue();
  return SE.getMulExpr(SE.getMinusSCEV(Sum, Up), SE.getConstant(Bytes->getType(), Times));
}

const SCEV *meantSize(Value *Size, ScalarEvolution &SE) {
  constexpr uint64_t MostForEmpty = 4096;
  return withoutRoundingUp(SE.getSCEV(withoutConstant(withoutOverflowCheck(Size), MostForEmpty)),
                           SE);
}

} // namespace smalloc
