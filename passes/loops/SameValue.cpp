//===- SameValue.cpp - compares expressions of scalar evolution -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/loops/SameValue.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace llvm;

namespace smalloc {

namespace {
/// Most iterations that the guard of a trip count assumes: a loop from 1 to n - 2 has max(2, n -
/// 1).
constexpr uint64_t MostGuard = 16;
} // namespace

const SCEV *bare(const SCEV *S) {
  while (true) {
    if (auto *Cast = dyn_cast<SCEVCastExpr>(S)) {
      S = Cast->getOperand();
    } else if (auto *Max = dyn_cast<SCEVMinMaxExpr>(S);
               Max && Max->getNumOperands() == 2 && isa<SCEVConstant>(Max->getOperand(0)) &&
               isa<SCEVUMaxExpr, SCEVSMaxExpr>(Max) &&
               cast<SCEVConstant>(Max->getOperand(0))->getAPInt().abs().ule(MostGuard)) {
      S = Max->getOperand(1);
    } else {
      return S;
    }
  }
}

namespace {

/// Merged values, each with its value on one way into the merge.
using Choice = ValueToSCEVMapTy;

const SCEV *chosen(const SCEV *S, Choice *C, ScalarEvolution &SE) {
  return C ? SCEVParameterRewriter::rewrite(S, SE, *C) : S;
}

/// Returns the shift of a constant by a value, a factor that is a power of two; null if \p S is
/// none.
const BinaryOperator *powerOfTwo(const SCEV *S) {
  auto *U = dyn_cast<SCEVUnknown>(S);
  auto *Shift = U ? dyn_cast<BinaryOperator>(U->getValue()) : nullptr;
  return Shift && Shift->getOpcode() == Instruction::Shl && isa<ConstantInt>(Shift->getOperand(0))
             ? Shift
             : nullptr;
}

/// Returns the constant factor of a term of a sum; 0 if it is too large.
uint64_t factorOf(const SCEV *Term) {
  auto *Known = dyn_cast<SCEVConstant>(Term);
  if (auto *Mul = dyn_cast<SCEVMulExpr>(Term); Mul && !Known) {
    Known = dyn_cast<SCEVConstant>(Mul->getOperand(0));
    if (!Known)
      return 1;
  }
  return !Known                                        ? 1
         : Known->getAPInt().getSignificantBits() > 32 ? 0
                                                       : Known->getAPInt().abs().getZExtValue();
}

/// Divides each term of \p Sum by their common constant factor, and returns that factor. Scalar
/// evolution writes 4 * (1 + n) as 4 + 4 * n, but keeps 4 * (1 + n) * (1 + m).
std::pair<int64_t, const SCEV *> withoutCommonFactor(const SCEVAddExpr *Sum, ScalarEvolution &SE) {
  uint64_t Common = 0;
  for (const SCEV *Term : Sum->operands())
    Common = std::gcd(Common, factorOf(Term));
  if (Common <= 1)
    return {1, Sum};
  SmallVector<const SCEV *, 4> Terms;
  for (const SCEV *Term : Sum->operands()) {
    auto *Mul = dyn_cast<SCEVMulExpr>(Term);
    const APInt &Known = cast<SCEVConstant>(Mul ? Mul->getOperand(0) : Term)->getAPInt();
    const SCEV *Part = SE.getConstant(Known.sdiv(APInt(Known.getBitWidth(), Common)));
    if (Mul)
      for (const SCEV *Factor : drop_begin(Mul->operands()))
        Part = SE.getMulExpr(Part, Factor);
    Terms.push_back(Part);
  }
  return {static_cast<int64_t>(Common), SE.getAddExpr(Terms)};
}

/// Multiplies \p S into \p P. \p Of: values of merged values inside shifts; outside of shifts S has
/// no merged values.
void multiplyIn(Product &P, const SCEV *S, ScalarEvolution &SE, Choice *Of = nullptr) {
  S = bare(S);
  if (const BinaryOperator *Shift = powerOfTwo(S)) {
    const SCEV *By = bare(chosen(bare(SE.getSCEV(Shift->getOperand(1))), Of, SE));
    P.Factor *= cast<ConstantInt>(Shift->getOperand(0))->getSExtValue();
    if (auto *Known = dyn_cast<SCEVConstant>(By); !Known)
      P.Symbols.push_back({By, true});
    else if (Known->getAPInt().ult(48) && std::abs(P.Factor) < (int64_t(1) << 14))
      P.Factor <<= Known->getAPInt().getZExtValue();
    else
      P.Valid = false;
    return;
  }
  if (auto *C = dyn_cast<SCEVConstant>(S)) {
    if (C->getAPInt().getSignificantBits() > 62)
      P.Valid = false;
    else
      P.Factor *= C->getAPInt().getSExtValue();
  } else if (auto *Mul = dyn_cast<SCEVMulExpr>(S)) {
    for (const SCEV *Op : Mul->operands())
      multiplyIn(P, Op, SE, Of);
  } else if (auto *Sum = dyn_cast<SCEVAddExpr>(S)) {
    const auto [Common, Rest] = withoutCommonFactor(Sum, SE);
    P.Factor *= Common;
    P.Symbols.push_back({Rest, false});
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

namespace {

/// Compares sums as sets of products, with their constants folded.
bool sameTerms(const SCEV *A, const SCEV *B, ScalarEvolution &SE, unsigned Depth, Choice *Of) {
  auto Terms = [&](const SCEV *S, int64_t &Constant) {
    SmallVector<Product, 4> Out;
    // Multiplies out sums that have a constant factor: extensions inside keep scalar evolution from
    // that.
    auto Add = [&](auto &&Self, const SCEV *T, int64_t Times) -> void {
      T = bare(T);
      if (auto *Sum = dyn_cast<SCEVAddExpr>(T)) {
        for (const SCEV *Op : Sum->operands())
          Self(Self, Op, Times);
        return;
      }
      auto *Mul = dyn_cast<SCEVMulExpr>(T);
      auto *Known =
          Mul && Mul->getNumOperands() == 2 ? dyn_cast<SCEVConstant>(Mul->getOperand(0)) : nullptr;
      if (Known && isa<SCEVAddExpr>(bare(Mul->getOperand(1))) &&
          Known->getAPInt().getSignificantBits() <= 32 && std::abs(Times) < (int64_t{1} << 30)) {
        Self(Self, Mul->getOperand(1), Times * Known->getAPInt().getSExtValue());
        return;
      }
      Product P;
      multiplyIn(P, T, SE, Of);
      P.Factor *= Times;
      if (P.Symbols.empty() && P.Valid)
        Constant += P.Factor;
      else
        Out.push_back(P);
    };
    Add(Add, S, 1);
    return Out;
  };
  int64_t ConstantA = 0, ConstantB = 0;
  SmallVector<Product, 4> TermsA = Terms(A, ConstantA), TermsB = Terms(B, ConstantB);
  if (ConstantA != ConstantB || TermsA.size() != TermsB.size())
    return false;
  if (TermsA.size() == 1 && TermsA[0].Symbols.size() == 1 && TermsB[0].Symbols.size() == 1 &&
      TermsA[0].Symbols[0] == std::pair(A, false) && TermsB[0].Symbols[0] == std::pair(B, false))
    return false; // both are single symbols: no progress
  for (Product &P : TermsA) {
    auto It = find_if(TermsB, [&](Product &Q) { return sameProduct(P, Q, SE, Depth); });
    if (It == TermsB.end())
      return false;
    TermsB.erase(It);
  }
  return true;
}

/// Most ways into a merge that are compared.
constexpr unsigned MaxWays = 8;

/// Merged values by what selects among them: a phi's block, or a select's condition.
using Merges = MapVector<const Value *, SmallVector<const Instruction *, 2>>;

void mergesIn(const SCEV *S, Merges &Out, ScalarEvolution &SE) {
  (void)SCEVExprContains(S, [&](const SCEV *Part) {
    auto *U = dyn_cast<SCEVUnknown>(Part);
    if (!U)
      return false;
    if (auto *Phi = dyn_cast<PHINode>(U->getValue()))
      Out[Phi->getParent()].push_back(Phi);
    else if (auto *Select = dyn_cast<SelectInst>(U->getValue()))
      Out[Select->getCondition()].push_back(Select);
    else if (const BinaryOperator *Shift = powerOfTwo(Part))
      mergesIn(SE.getSCEV(Shift->getOperand(1)), Out, SE);
    return false;
  });
}

/// True if \p A and \p B are equal on each way into a merge. Code that merges an argument's default
/// with the argument does so in each quantity computed from it.
bool sameOnEachWay(const SCEV *A, const SCEV *B, ScalarEvolution &SE, unsigned Depth) {
  Merges Of, OfOther;
  mergesIn(A, Of, SE);
  if (Of.empty())
    return false;
  mergesIn(B, OfOther, SE);
  for (auto &[By, Merged] : Of) {
    auto Others = OfOther.find(By);
    if (Others == OfOther.end())
      continue;
    auto *Block = dyn_cast<BasicBlock>(By);
    const unsigned Ways =
        Block ? cast<PHINode>(Merged.front())->getNumIncomingValues() : 2; // a select has two
    if (Ways > MaxWays)
      continue;
    auto SameOn = [&](unsigned Way) {
      Choice C;
      for (const Instruction *I : concat<const Instruction *const>(Merged, Others->second)) {
        const Value *In = I->getOperand(Way + 1); // operand of a select
        if (auto *Phi = dyn_cast<PHINode>(I))
          In = Phi->getIncomingValueForBlock(cast<PHINode>(Merged.front())->getIncomingBlock(Way));
        C[I] = SE.getSCEV(const_cast<Value *>(In));
      }
      const SCEV *InA = bare(chosen(A, &C, SE)), *InB = bare(chosen(B, &C, SE));
      return sameTerms(InA, InB, SE, Depth + 3, &C) || sameSum(InA, InB, SE, Depth + 3);
    };
    unsigned Way = 0;
    while (Way < Ways && SameOn(Way))
      ++Way;
    if (Way == Ways)
      return true;
  }
  return false;
}

/// Most users of an address that are searched for stores to it.
constexpr unsigned MaxUsers = 64;

/// The load that an expression stands for, and the only store of its function to the address, if
/// there is one and it comes first. Neither if the address is written in another way.
struct Field {
  const LoadInst *Load = nullptr;
  const StoreInst *Written = nullptr;
};
Field fieldOf(const SCEV *S) {
  auto *U = dyn_cast<SCEVUnknown>(S);
  Field F{U ? dyn_cast<LoadInst>(U->getValue()) : nullptr};
  if (!F.Load || isa<Constant>(F.Load->getPointerOperand()))
    return {};
  unsigned Looked = 0;
  for (const User *By : F.Load->getPointerOperand()->users()) {
    if (++Looked > MaxUsers)
      return {};
    auto *Store = dyn_cast<StoreInst>(By);
    if (!Store || Store->getPointerOperand() != F.Load->getPointerOperand())
      continue;
    const bool Before = Store->getParent() == F.Load->getParent()
                            ? Store->comesBefore(F.Load)
                            : Store->getParent()->isEntryBlock();
    if (F.Written || !Before || Store->getValueOperand()->getType() != F.Load->getType())
      return {};
    F.Written = Store;
  }
  return F;
}

/// True if \p A and \p B are equal as loads of fields. A field is loaded again after a call that
/// might write it. It is assumed to hold what the function stored there, or what it held before.
bool sameField(const SCEV *A, const SCEV *B, ScalarEvolution &SE, unsigned Depth) {
  const Field Of = fieldOf(A), Other = fieldOf(B);
  if (Of.Load && Other.Load && !Of.Written && !Other.Written)
    return Of.Load->getType() == Other.Load->getType() &&
           SE.getSCEV(const_cast<Value *>(Of.Load->getPointerOperand())) ==
               SE.getSCEV(const_cast<Value *>(Other.Load->getPointerOperand()));
  for (auto [F, Value] : {std::pair(Of, B), std::pair(Other, A)})
    if (F.Written && sameSum(SE.getSCEV(const_cast<llvm::Value *>(F.Written->getValueOperand())),
                             Value, SE, Depth + 3))
      return true;
  return false;
}

} // namespace

bool sameSum(const SCEV *A, const SCEV *B, ScalarEvolution &SE, unsigned Depth) {
  A = bare(A);
  B = bare(B);
  if (A == B)
    return true;
  if (Depth > 8)
    return false;
  // Jump threading merges copies of an allocation in phis, each copy with its own count.
  for (auto [Merged, Other] : {std::pair(A, B), std::pair(B, A)})
    if (auto *U = dyn_cast<SCEVUnknown>(Merged))
      if (auto *Phi = dyn_cast<PHINode>(U->getValue()))
        if (any_of(Phi->incoming_values(), [&](Value *In) {
              return In != Phi && SE.isSCEVable(In->getType()) &&
                     sameSum(SE.getSCEV(In), Other, SE, Depth + 3);
            }))
          return true;
  return sameField(A, B, SE, Depth) || sameTerms(A, B, SE, Depth, nullptr) ||
         sameOnEachWay(A, B, SE, Depth);
}

bool atLeast(const SCEV *A, uint64_t Times, const SCEV *B, ScalarEvolution &SE) {
  while (auto *Part = dyn_cast<SCEVUDivExpr>(bare(A))) { // a loop over every second element
    auto *By = dyn_cast<SCEVConstant>(Part->getRHS());
    if (!By || By->isZero())
      break;
    A = Part->getLHS();
    Times /= By->getAPInt().getLimitedValue();
  }
  Product Of = productOf(A, SE), Whole = productOf(B, SE);
  if (Of.Factor <= 0 || Whole.Factor <= 0 ||
      SaturatingMultiply<uint64_t>(static_cast<uint64_t>(Of.Factor), Times) <
          static_cast<uint64_t>(Whole.Factor))
    return false;
  Of.Factor = Whole.Factor = 1;
  return sameProduct(Of, Whole, SE, 0);
}

} // namespace smalloc
