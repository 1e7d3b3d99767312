//===- LayoutPadding.cpp - pads rows that share cache sets ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/LayoutPadding.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using ore::NV;

namespace smalloc {
namespace {

constexpr uint64_t LineBytes = 64;
/// A column of fewer elements than a set has ways (8 to 16) does not evict itself.
constexpr uint64_t LeastRows = 16;

/// Returns the type of the array's innermost dimension; null unless \p T is an array of numbers
/// with two dimensions or more.
ArrayType *rowOf(Type *T) {
  auto *Array = dyn_cast<ArrayType>(T);
  if (!Array || !isa<ArrayType>(Array->getElementType()))
    return nullptr;
  while (auto *Inner = dyn_cast<ArrayType>(Array->getElementType()))
    Array = Inner;
  Type *Element = Array->getElementType();
  return Element->isIntegerTy() || Element->isFloatingPointTy() ? Array : nullptr;
}

/// Returns \p T with rows of type \p Row.
Type *withRow(Type *T, ArrayType *Row) {
  auto *Array = cast<ArrayType>(T);
  return isa<ArrayType>(Array->getElementType())
             ? ArrayType::get(withRow(Array->getElementType(), Row), Array->getNumElements())
             : Row;
}

/// An address in the array, and the type of the part at that address.
struct Step {
  Value *Address;
  Type *Part; ///< null: an element at a known byte
};

class Padding {
public:
  Padding(GlobalVariable &G, ArrayType *Row) : G(G), Row(Row), DL(G.getDataLayout()) {}

  /// True if every use is an access by subscripts; else Obstacle names the use that is not.
  bool onlySubscripts();
  void apply(ArrayType *NewRow);

  StringRef Obstacle;
  Instruction *At = nullptr; ///< a use, for the remark

private:
  bool follow(const Step &S, SmallVectorImpl<Step> &Work);

  GlobalVariable &G;
  ArrayType *Row;
  const DataLayout &DL;
  SmallVector<GetElementPtrInst *, 16> Subscripts;
  SmallVector<std::pair<Use *, uint64_t>, 16>
      Constants; ///< instructions' uses of a known byte's address
};

/// Returns the type of the part that the subscripts of \p E select; null if the first is no plain
/// 0.
Type *partOf(const GEPOperator &E) {
  auto *First = dyn_cast<ConstantInt>(E.getOperand(1));
  return First && First->isZero() ? E.getResultElementType() : nullptr;
}

bool Padding::follow(const Step &S, SmallVectorImpl<Step> &Work) {
  APInt Offset(64, 0);
  const bool Known = isa<Constant>(S.Address);
  if (Known && (S.Address->stripAndAccumulateConstantOffsets(DL, Offset, true) != &G ||
                Offset.uge(DL.getTypeAllocSize(G.getValueType())))) {
    Obstacle = "arithmetic on its address";
    return false;
  }
  for (Use &U : S.Address->uses()) {
    if (auto *I = dyn_cast<Instruction>(U.getUser())) {
      if (!At)
        At = I;
      if (Known && S.Address != &G)
        Constants.push_back({&U, Offset.getZExtValue()});
    }
    if (auto *E = dyn_cast<GEPOperator>(U.getUser())) {
      const bool Element = S.Part && !isa<ArrayType>(S.Part);
      if (Element && E->hasAllZeroIndices()) {
        Work.push_back({E, S.Part});
      } else if (S.Part && !Element && E->getSourceElementType() == S.Part && partOf(*E)) {
        if (auto *I = dyn_cast<GetElementPtrInst>(E))
          Subscripts.push_back(I);
        Work.push_back({E, partOf(*E)});
      } else if (Known && isa<Constant>(E)) {
        Work.push_back({E, nullptr});
      } else {
        Obstacle = "arithmetic on its address";
        return false;
      }
      continue;
    }
    Type *Accessed = nullptr;
    if (auto *Load = dyn_cast<LoadInst>(U.getUser()))
      Accessed = Load->getType();
    else if (auto *Store = dyn_cast<StoreInst>(U.getUser()); Store && U.getOperandNo() == 1)
      Accessed = Store->getValueOperand()->getType();
    // The array itself, as the address of its first element, is a known byte.
    if (Accessed != Row->getElementType() ||
        (S.Part && S.Part != Accessed && S.Address != &G && !Known)) {
      Obstacle = isa<CallBase>(U.getUser()) ? "a call gets its address" : "its address is taken";
      return false;
    }
  }
  return true;
}

bool Padding::onlySubscripts() {
  SmallVector<Step, 16> Work{{&G, G.getValueType()}};
  SmallPtrSet<Value *, 16> Seen;
  while (!Work.empty()) {
    Step S = Work.pop_back_val();
    if (Seen.insert(S.Address).second && !follow(S, Work))
      return false;
  }
  return true;
}

void Padding::apply(ArrayType *NewRow) {
  LLVMContext &C = G.getContext();
  Type *NewType = withRow(G.getValueType(), NewRow);
  auto *New = new GlobalVariable(*G.getParent(), NewType, false, G.getLinkage(),
                                 ConstantAggregateZero::get(NewType), "", &G);
  New->copyAttributesFrom(&G);
  New->takeName(&G);
  const uint64_t OldBytes = DL.getTypeAllocSize(Row), NewBytes = DL.getTypeAllocSize(NewRow);
  for (auto [U, Offset] : Constants)
    U->set(ConstantExpr::getGetElementPtr(
        Type::getInt8Ty(C), New,
        ConstantInt::get(Type::getInt64Ty(C), Offset / OldBytes * NewBytes + Offset % OldBytes)));
  for (GetElementPtrInst *I : Subscripts) {
    I->setSourceElementType(withRow(I->getSourceElementType(), NewRow));
    I->setResultElementType(GetElementPtrInst::getIndexedType(
        I->getSourceElementType(), SmallVector<Value *, 4>(I->indices())));
  }
  G.removeDeadConstantUsers();
  G.replaceAllUsesWith(New);
  G.eraseFromParent();
}

} // namespace

PreservedAnalyses LayoutPaddingPass::run(Module &M, ModuleAnalysisManager &AM) {
  if (!isServed(M))
    return PreservedAnalyses::all();
  auto &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  const DataLayout &DL = M.getDataLayout();
  bool Changed = false;
  for (GlobalVariable &G : make_early_inc_range(M.globals())) {
    ArrayType *Row = G.hasInitializer() && !G.isConstant() ? rowOf(G.getValueType()) : nullptr;
    if (!Row)
      continue;
    const uint64_t RowBytes = DL.getTypeAllocSize(Row);
    const uint64_t ElementBytes = DL.getTypeAllocSize(Row->getElementType());
    if (RowBytes == 0 || RowBytes % SetPatternBytes || LineBytes % ElementBytes ||
        DL.getTypeAllocSize(G.getValueType()) / RowBytes < LeastRows)
      continue;
    Padding P(G, Row);
    const bool Private = P.onlySubscripts();
    if (!P.At)
      continue; // no use, or only in constants
    SmallVector<DIGlobalVariableExpression *, 1> Debug;
    G.getDebugInfo(Debug);
    StringRef Obstacle = P.Obstacle;
    if (!G.hasLocalLinkage())
      Obstacle = "other units can access it";
    else if (!isa<ConstantAggregateZero, UndefValue>(G.getInitializer()))
      Obstacle = "it has an initial value";
    else if (G.hasSection() || G.isThreadLocal())
      Obstacle = "it has its own section or is thread-local";
    else if (!Debug.empty())
      Obstacle = "debug information describes its layout (-g)";
    const std::string Name = demangle(G.getName());
    const uint64_t Longer = RowBytes + LineBytes;
    auto &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(*P.At->getFunction());
    if (!Private || !Obstacle.empty()) {
      ORE.emit([&] {
        return OptimizationRemarkMissed("smalloc", "NotPadded", P.At)
               << "layout: rows of '" << NV("Array", Name) << "' are " << NV("RowBytes", RowBytes)
               << " bytes long, so that a column falls into the same cache sets on superpages; "
                  "rows of "
               << NV("PaddedBytes", Longer) << " bytes would not: not padded, since "
               << NV("Obstacle", Obstacle);
      });
      continue;
    }
    ORE.emit([&] {
      return OptimizationRemark("smalloc", "Padded", P.At)
             << "layout: rows of '" << NV("Array", Name) << "' are made "
             << NV("PaddedBytes", Longer) << " bytes long instead of " << NV("RowBytes", RowBytes)
             << ", since a column falls into the same cache sets on superpages";
    });
    P.apply(
        ArrayType::get(Row->getElementType(), Row->getNumElements() + LineBytes / ElementBytes));
    Changed = true;
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace smalloc
