//===- SameValue.cpp - do two expressions mean the same number? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SameValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {

const SCEV *bare(const SCEV *S) {
  while (true) {
    if (auto *Cast = dyn_cast<SCEVCastExpr>(S)) {
      S = Cast->getOperand();
    } else if (auto *Max = dyn_cast<SCEVMinMaxExpr>(S);
               Max && Max->getNumOperands() == 2 && isa<SCEVConstant>(Max->getOperand(0)) &&
               isa<SCEVUMaxExpr, SCEVSMaxExpr>(Max) &&
               cast<SCEVConstant>(Max->getOperand(0))->getAPInt().abs().ule(1)) {
      S = Max->getOperand(1);
    } else {
      return S;
    }
  }
}

namespace {

void multiplyIn(Product &P, const SCEV *S, ScalarEvolution &SE) {
  S = bare(S);
  if (auto *U = dyn_cast<SCEVUnknown>(S))
    if (auto *Shift = dyn_cast<BinaryOperator>(U->getValue());
        Shift && Shift->getOpcode() == Instruction::Shl && isa<ConstantInt>(Shift->getOperand(0))) {
      P.Factor *= cast<ConstantInt>(Shift->getOperand(0))->getSExtValue();
      P.Symbols.push_back({bare(SE.getSCEV(Shift->getOperand(1))), true});
      return;
    }
  if (auto *C = dyn_cast<SCEVConstant>(S)) {
    if (C->getAPInt().getSignificantBits() > 62)
      P.Valid = false;
    else
      P.Factor *= C->getAPInt().getSExtValue();
  } else if (auto *Mul = dyn_cast<SCEVMulExpr>(S)) {
    for (const SCEV *Op : Mul->operands())
      multiplyIn(P, Op, SE);
  } else {
    P.Symbols.push_back({S, false});
  }
}

bool sameProduct(Product A, Product B, ScalarEvolution &SE, unsigned Depth) {
  if (!A.Valid || !B.Valid || A.Factor != B.Factor || A.Symbols.size() != B.Symbols.size())
    return false;
  for (auto [S, Power] : A.Symbols) {
    auto It = find_if(B.Symbols, [&, S = S, Power = Power](const auto &Other) {
      return Power == Other.second && sameSum(S, Other.first, SE, Depth + 1);
    });
    if (It == B.Symbols.end())
      return false;
    B.Symbols.erase(It);
  }
  return true;
}

} // namespace

Product productOf(const SCEV *S, ScalarEvolution &SE) {
  Product P;
  multiplyIn(P, S, SE);
  return P;
}

bool sameSum(const SCEV *A, const SCEV *B, ScalarEvolution &SE, unsigned Depth) {
  A = bare(A);
  B = bare(B);
  if (A == B)
    return true;
  if (Depth > 8)
    return false;
  // Jump threading merges copies of an allocation, with the count that each one had, in phis.
  for (auto [Merged, Other] : {std::pair(A, B), std::pair(B, A)})
    if (auto *U = dyn_cast<SCEVUnknown>(Merged))
      if (auto *Phi = dyn_cast<PHINode>(U->getValue()))
        if (any_of(Phi->incoming_values(), [&](Value *In) {
              return In != Phi && SE.isSCEVable(In->getType()) &&
                     sameSum(SE.getSCEV(In), Other, SE, Depth + 3);
            }))
          return true;
  auto Terms = [&](const SCEV *S, int64_t &Constant) {
    SmallVector<Product, 4> Out;
    auto Add = [&](auto &&Self, const SCEV *T) -> void {
      T = bare(T);
      if (auto *Sum = dyn_cast<SCEVAddExpr>(T)) {
        for (const SCEV *Op : Sum->operands())
          Self(Self, Op);
        return;
      }
      Product P;
      multiplyIn(P, T, SE);
      if (P.Symbols.empty() && P.Valid)
        Constant += P.Factor;
      else
        Out.push_back(P);
    };
    Add(Add, S);
    return Out;
  };
  int64_t ConstantA = 0, ConstantB = 0;
  SmallVector<Product, 4> TermsA = Terms(A, ConstantA), TermsB = Terms(B, ConstantB);
  if (ConstantA != ConstantB || TermsA.size() != TermsB.size())
    return false;
  if (TermsA.size() == 1 && TermsA[0].Symbols.size() == 1 && TermsB[0].Symbols.size() == 1 &&
      TermsA[0].Symbols[0] == std::pair(A, false) && TermsB[0].Symbols[0] == std::pair(B, false))
    return false; // no progress
  for (Product &P : TermsA) {
    auto It = find_if(TermsB, [&](Product &Q) { return sameProduct(P, Q, SE, Depth); });
    if (It == TermsB.end())
      return false;
    TermsB.erase(It);
  }
  return true;
}

} // namespace smalloc
