//===- WidenedSums.cpp - extensions of integers inside sums ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/WidenedSums.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace smalloc {
namespace {

class Widening : public SCEVRewriteVisitor<Widening> {
public:
  explicit Widening(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *E) {
    return extended(visit(E->getOperand()), E->getType(), /*Signed=*/true);
  }
  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *E) {
    return extended(visit(E->getOperand()), E->getType(), /*Signed=*/false);
  }

private:
  const SCEV *extended(const SCEV *S, Type *To, bool Signed) {
    if (auto *Rec = dyn_cast<SCEVAddRecExpr>(S); Rec && Rec->isAffine())
      return SE.getAddRecExpr(extended(Rec->getStart(), To, Signed),
                              extended(Rec->getStepRecurrence(SE), To, Signed), Rec->getLoop(),
                              SCEV::FlagAnyWrap);
    if (isa<SCEVAddExpr, SCEVMulExpr>(S)) {
      auto *Parts = cast<SCEVNAryExpr>(S);
      const SCEV *Whole = extended(Parts->getOperand(0), To, Signed);
      for (unsigned I = 1; I < Parts->getNumOperands(); ++I) {
        const SCEV *Part = extended(Parts->getOperand(I), To, Signed);
        Whole = isa<SCEVAddExpr>(S) ? SE.getAddExpr(Whole, Part) : SE.getMulExpr(Whole, Part);
      }
      return Whole;
    }
    // A constant below zero is subtracted, also from unsigned integers.
    return Signed || isa<SCEVConstant>(S) ? SE.getSignExtendExpr(S, To)
                                          : SE.getZeroExtendExpr(S, To);
  }
};

} // namespace

const SCEV *widenedSums(const SCEV *S, ScalarEvolution &SE) {
  // extended() visits a part as often as the sum has it.
  constexpr unsigned MostParts = 100;
  return S->getExpressionSize() > MostParts ? S : Widening(SE).visit(S);
}

} // namespace smalloc
