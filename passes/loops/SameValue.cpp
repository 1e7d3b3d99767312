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

/// Returns the constant factor of a term of a sum; 1 if it has none, or if that is too large.
uint64_t factorOf(const SCEV *Term) {
  auto *Known = dyn_cast<SCEVConstant>(Term);
  if (auto *Mul = dyn_cast<SCEVMulExpr>(Term); Mul && !Known) {
    Known = dyn_cast<SCEVConstant>(Mul->getOperand(0));
    if (!Known)
      return 1;
  }
  return !Known || Known->getAPInt().getSignificantBits() > 32
             ? 1
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
  const SCEV *Quotient = nullptr;
  for (const SCEV *Term : Sum->operands()) {
    auto *Mul = dyn_cast<SCEVMulExpr>(Term);
    const SCEV *Constant = Term;
    if (Mul)
      Constant = Mul->getOperand(0);
    const APInt &Known = cast<SCEVConstant>(Constant)->getAPInt();
    const SCEV *Part = SE.getConstant(Known.sdiv(APInt(Known.getBitWidth(), Common)));
    if (Mul)
      for (const SCEV *Factor : drop_begin(Mul->operands()))
        Part = SE.getMulExpr(Part, Factor);
    Quotient = Quotient ? SE.getAddExpr(Quotient, Part) : Part;
  }
  return {static_cast<int64_t>(Common), Quotient};
}

/// Multiplies the constant \p By into \p P, which is not valid if the factor gets too large.
void multiplyBy(Product &P, const APInt &By) {
  constexpr int64_t Most = int64_t(1) << 62;
  int64_t Factor = 0;
  if (By.getSignificantBits() > 62 || MulOverflow(P.Factor, By.getSExtValue(), Factor) ||
      Factor > Most || Factor < -Most)
    P.Valid = false;
  else
    P.Factor = Factor;
}

/// Multiplies \p S into \p P. \p Of replaces phis and selects in the amounts of shifts by their
/// values on one way into the merge; the caller has replaced those in the rest of \p S. Null: keeps
/// them.
void multiplyIn(Product &P, const SCEV *S, ScalarEvolution &SE, Choice *Of = nullptr) {
  const SCEV *Cast = S;
  S = bare(S);
  if (const BinaryOperator *Shift = powerOfTwo(S)) {
    const SCEV *By = bare(chosen(bare(SE.getSCEV(Shift->getOperand(1))), Of, SE));
    multiplyBy(P, cast<ConstantInt>(Shift->getOperand(0))->getValue());
    if (auto *Known = dyn_cast<SCEVConstant>(By); !Known)
      P.Symbols.push_back({By, true});
    else if (Known->getAPInt().ult(48) && std::abs(P.Factor) < (int64_t(1) << 14))
      P.Factor <<= Known->getAPInt().getZExtValue();
    else
      P.Valid = false;
    return;
  }
  if (auto *C = dyn_cast<SCEVConstant>(S)) {
    multiplyBy(P, C->getAPInt());
  } else if (auto *Mul = dyn_cast<SCEVMulExpr>(S)) {
    for (const SCEV *Op : Mul->operands())
      multiplyIn(P, Op, SE, Of);
  } else if (auto *Sum = dyn_cast<SCEVAddExpr>(S)) {
    const auto [Common, Rest] = withoutCommonFactor(Sum, SE);
    multiplyBy(P, APInt(64, static_cast<uint64_t>(Common)));
    P.Symbols.push_back({Rest, false});
  } else { // multiplyOut() needs the casts of a division
    P.Symbols.push_back({isa<SCEVUDivExpr>(S) ? Cast : S, false});
  }
}

/// Largest divisor whose remainder is neglected: that many elements are a small part of an object
/// that superpages are for.
constexpr uint64_t MostDivisor = 256;

/// Multiplies out the divisions in \p P: replaces x / c by x, and multiplies \p Other by c. Sizes
/// of ranges of elements have no remainder.
void multiplyOut(Product &P, Product &Other, ScalarEvolution &SE) {
  for (bool Found = true; Found && P.Valid;) {
    Found = false;
    for (auto *It = P.Symbols.begin(); It != P.Symbols.end() && !Found; ++It) {
      const SCEV *Symbol = It->first;
      while (auto *Of = dyn_cast<SCEVCastExpr>(Symbol)) {
        if (SE.getTypeSizeInBits(Of->getType()) < 32) // a mask of the lower bits
          break;
        Symbol = Of->getOperand();
      }
      auto *Part = It->second ? nullptr : dyn_cast<SCEVUDivExpr>(Symbol);
      auto *By = Part ? dyn_cast<SCEVConstant>(Part->getRHS()) : nullptr;
      if (!By || By->isZero() || By->getAPInt().ugt(MostDivisor) ||
          std::abs(Other.Factor) > (int64_t{1} << 40))
        continue;
      Found = true;
      Other.Factor *= By->getAPInt().getSExtValue();
      P.Symbols.erase(It);
      multiplyIn(P, Part->getLHS(), SE);
    }
  }
}

bool sameProduct(Product A, Product B, ScalarEvolution &SE, unsigned Depth) {
  multiplyOut(A, B, SE);
  multiplyOut(B, A, SE);
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

/// True if the sums \p A and \p B have the same products in any order, with their constants folded.
/// \p Of: see multiplyIn().
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
      multiplyBy(P, APInt(64, static_cast<uint64_t>(Times)));
      if (!P.Symbols.empty() || !P.Valid || AddOverflow(Constant, P.Factor, Constant))
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

/// The load that an expression stands for, and the store of its function to the same address, if
/// there is one. Neither if there are two stores, or if the store has another type or is not known
/// to run before the load. Stores to the address by another SSA value do not count.
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
  const auto Divides = [](const SCEV *S) {
    return SCEVExprContains(S, [](const SCEV *Part) { return isa<SCEVUDivExpr>(Part); });
  };
  if ((Divides(A) || Divides(B)) && sameProduct(productOf(A, SE), productOf(B, SE), SE, Depth + 3))
    return true;
  return sameField(A, B, SE, Depth) || sameTerms(A, B, SE, Depth, nullptr) ||
         sameOnEachWay(A, B, SE, Depth);
}

const SCEV *wholeElements(const SCEV *Count, ScalarEvolution &SE) {
  const SCEV *Steps = bare(SE.getMinusSCEV(Count, SE.getOne(Count->getType())));
  auto *Elements = dyn_cast<SCEVUDivExpr>(Steps);
  auto *Size = Elements ? dyn_cast<SCEVConstant>(Elements->getRHS()) : nullptr;
  auto *Last = Size ? dyn_cast<SCEVAddExpr>(Elements->getLHS()) : nullptr;
  auto *Less = Last ? dyn_cast<SCEVConstant>(Last->getOperand(0)) : nullptr;
  if (!Less || Less->getAPInt() != -Size->getAPInt())
    return Count;
  return SE.getTruncateOrZeroExtend(SE.getUDivExpr(SE.getAddExpr(Last, Size), Size),
                                    Count->getType());
}

bool atLeast(const SCEV *A, uint64_t Times, const SCEV *B, ScalarEvolution &SE) {
  Product Of = productOf(A, SE), Whole = productOf(B, SE);
  multiplyOut(Of, Whole, SE);
  multiplyOut(Whole, Of, SE);
  if (Of.Factor <= 0 || Whole.Factor <= 0 ||
      SaturatingMultiply<uint64_t>(static_cast<uint64_t>(Of.Factor), Times) <
          static_cast<uint64_t>(Whole.Factor))
    return false;
  Of.Factor = Whole.Factor = 1;
  return sameProduct(Of, Whole, SE, 0);
}

} // namespace smalloc
