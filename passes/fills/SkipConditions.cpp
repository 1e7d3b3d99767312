//===- SkipConditions.cpp - conditions that skip a filling ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/fills/SkipConditions.h"
#include "passes/loops/SameValue.h"
#include "passes/spread/PageShifts.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

bool isSmallGap(const SCEV *Bytes) {
  auto *Gap = dyn_cast<SCEVConstant>(Bytes);
  return Gap && Gap->getAPInt().ule(MostGapBytes);
}

SkipConditions::SkipConditions(const CallBase &Call, const BasicBlock *Filling, const SCEV *Size,
                               const FunctionAnalyses &A)
    : Filling(Filling), Size(Size), A(A),
      Quantities{&Call} { // the result of posix_memalign reports a failure
  SmallVector<const SCEV *, 8> Stack{Size};
  while (!Stack.empty()) {
    const SCEV *S = Stack.pop_back_val();
    if (auto *U = dyn_cast<SCEVUnknown>(S))
      Quantities.insert(U->getValue());
    for (const SCEV *Op : S->operands())
      Stack.push_back(Op);
  }
}

bool SkipConditions::isQuantity(const Value *V) const {
  for (unsigned Depth = 0; Depth < 6; ++Depth) {
    if (Quantities.contains(V))
      return true;
    auto *I = dyn_cast<Instruction>(V);
    if (!I || I->getNumOperands() == 0)
      return false;
    if (auto *Phi = dyn_cast<PHINode>(I); Phi && any_of(Phi->incoming_values(), [&](const Use &In) {
                                            return Quantities.contains(In.get());
                                          }))
      return true;
    V = I->getOperand(0); // casts, and arithmetic with a constant
  }
  return false;
}

/// True if \p Compare guards a loop around the filling, which is assumed to run. The guard compares
/// a quantity of the loop's trip count.
bool SkipConditions::guardsLoop(const ICmpInst *Compare) const {
  for (const Use &Op : Compare->operands())
    if (auto *C = dyn_cast<ConstantInt>(Op); C && C->getValue().getSignificantBits() > 5)
      return false; // a threshold that the program chose
  for (const Loop *L = A.LI.getLoopFor(Filling); L; L = L->getParentLoop()) {
    const SCEV *Count = A.SE.getBackedgeTakenCount(L);
    if (isa<SCEVCouldNotCompute>(Count))
      continue;
    for (const Use &Op : Compare->operands())
      if (A.SE.isSCEVable(Op->getType()) && !isa<Constant>(Op) &&
          SCEVExprContains(Count, [&](const SCEV *Part) { return Part == bare(A.SE.getSCEV(Op)); }))
        return true;
  }
  return false;
}

/// True if \p Compare compares the size, or a value that it follows from, with a constant from -2
/// to 1. A comparison with another constant makes a choice.
bool SkipConditions::testsEmpty(const ICmpInst *Compare) const {
  for (unsigned Side = 0; Side < 2; ++Side)
    if (auto *C = dyn_cast<ConstantInt>(Compare->getOperand(1 - Side)))
      return C->getValue().getSignificantBits() <= 2 && isQuantity(Compare->getOperand(Side));
  return false;
}

/// True if the value \p Value of \p Compare skips only sizes below a superpage. The copy of
/// libstdc++ 13 and newer tests for a single element first.
bool SkipConditions::skipsOnlySmall(const ICmpInst *Compare, bool Value) const {
  CmpInst::Predicate Relation = Value ? Compare->getPredicate() : Compare->getInversePredicate();
  const llvm::Value *Left = Compare->getOperand(0), *Right = Compare->getOperand(1);
  if (isa<Constant>(Left)) {
    std::swap(Left, Right);
    Relation = CmpInst::getSwappedPredicate(Relation);
  }
  auto *Limit = dyn_cast<ConstantInt>(Right);
  if (!Limit || Limit->getBitWidth() > 64 || Limit->isNegative() ||
      !A.SE.isSCEVable(Left->getType()) || (!ICmpInst::isGT(Relation) && !ICmpInst::isGE(Relation)))
    return false;
  return isSmallUpTo(Left, Limit->getZExtValue());
}

/// True if objects are smaller than a superpage whose \p V is at most \p Limit. \p V must be the
/// size, or a number of elements of constant size.
bool SkipConditions::isSmallUpTo(const llvm::Value *V, uint64_t Limit) const {
  const SCEV *Compared = A.SE.getSCEV(const_cast<llvm::Value *>(V));
  if (isSize(Compared, Size))
    return Limit < SuperpageBytes;
  auto *Product = dyn_cast<SCEVMulExpr>(Size);
  auto *Each = Product && Product->getNumOperands() == 2
                   ? dyn_cast<SCEVConstant>(Product->getOperand(0))
                   : nullptr;
  return Each && isSize(Compared, Product->getOperand(1)) && Each->getAPInt().ult(SuperpageBytes) &&
         Limit < SuperpageBytes / Each->getAPInt().getZExtValue();
}

/// True if \p Compared is \p Of, or \p Of without a small constant that is added to it.
bool SkipConditions::isSize(const SCEV *Compared, const SCEV *Of) const {
  if (sameSum(Compared, Of, A.SE))
    return true;
  auto *Sum = dyn_cast<SCEVAddExpr>(Of);
  return Sum && isSmallGap(Sum->getOperand(0)) &&
         sameSum(Compared, A.SE.getMinusSCEV(Of, Sum->getOperand(0)), A.SE);
}

/// True if \p Switch leads to the filling unless the object is empty or small.
bool SkipConditions::are(const SwitchInst &Switch) const {
  const llvm::Value *V = Switch.getCondition();
  if (!A.SE.isSCEVable(V->getType()) ||
      !A.DT.dominates(BasicBlockEdge(Switch.getParent(), Switch.getDefaultDest()), Filling))
    return false;
  return all_of(Switch.cases(), [&](const auto &Case) {
    const APInt &C = Case.getCaseValue()->getValue();
    return (C.getSignificantBits() <= 2 && isQuantity(V)) ||
           (C.getActiveBits() < 32 && isSmallUpTo(V, C.getZExtValue()));
  });
}

bool SkipConditions::are(const Value *Condition, bool Value) const {
  SmallVector<std::pair<const llvm::Value *, bool>, 4> Conditions{{Condition, Value}};
  while (!Conditions.empty()) {
    const auto [V, Wanted] = Conditions.pop_back_val();
    auto *I = dyn_cast<Instruction>(V);
    auto *Compare = dyn_cast_or_null<ICmpInst>(I);
    if (I && !Compare && (I->isBitwiseLogicOp() || isa<SelectInst>(I))) {
      // A constant arm of a select says which value its condition must have.
      bool Negates = I->getOpcode() == Instruction::Xor;
      if (auto *Select = dyn_cast<SelectInst>(I)) {
        auto *Then = dyn_cast<ConstantInt>(Select->getTrueValue());
        auto *Else = dyn_cast<ConstantInt>(Select->getFalseValue());
        Conditions.push_back({Select->getCondition(), Then   ? Then->isOne() == Wanted
                                                      : Else ? Else->isOne() != Wanted
                                                             : Wanted});
      }
      for (const Use &Op : drop_begin(I->operands(), isa<SelectInst>(I)))
        if (!isa<Constant>(Op))
          Conditions.push_back({Op, Wanted != Negates});
      continue;
    }
    const bool OfPointer = Compare && Compare->getOperand(0)->getType()->isPointerTy();
    if (!Compare || (!OfPointer && !testsEmpty(Compare) && !skipsOnlySmall(Compare, Wanted) &&
                     !guardsLoop(Compare)))
      return false;
  }
  return true;
}

} // namespace smalloc
