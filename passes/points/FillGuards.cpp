//===- FillGuards.cpp - cost of a fill point when the fill is small -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/FillGuards.h"
#include "passes/decisions/UnitSites.h"
#include "passes/points/PointParts.h"
#include "passes/rewrite/ThunkText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

/// The runtime's entry, the marker, and the function that expanded points call.
struct Names {
  StringRef Filling, Marker, Large;
  unsigned Parameters;
};
constexpr Names NamesOf[] = { // by FillKind
    {"__smalloc_v1_filling", "__smalloc_v1_ask_filling", "__smalloc_v1_large_fill", 3},
    {"__smalloc_v1_filling_each", "__smalloc_v1_ask_filling_each", "__smalloc_v1_large_fill_each",
     5}};

FunctionType *markerType(LLVMContext &C, const Names &Of) {
  SmallVector<Type *, 5> Parameters(Of.Parameters, Type::getInt64Ty(C));
  Parameters[0] = PointerType::getUnqual(C);
  return FunctionType::get(Type::getVoidTy(C), Parameters, false);
}

/// Gives \p Thunk its body: it calls libsmalloc, if present, for fills of at least a superpage.
void testAndCall(Function &Thunk, const Names &Of) {
  Module &M = *Thunk.getParent();
  LLVMContext &C = M.getContext();
  Function *Filling = M.getFunction(Of.Filling);
  if (!Filling)
    Filling = Function::Create(markerType(C, Of), GlobalValue::ExternalWeakLinkage, Of.Filling, M);
  Filling->setDoesNotThrow();
  Filling->addFnAttr(Attribute::NonLazyBind);
  BasicBlock *Tests = BasicBlock::Create(C, "", &Thunk), *Asks = BasicBlock::Create(C, "", &Thunk),
             *Calls = BasicBlock::Create(C, "", &Thunk), *Ends = BasicBlock::Create(C, "", &Thunk);
  IRBuilder<> B(Tests);
  B.CreateCondBr(B.CreateICmpUGT(Thunk.getArg(2), B.getInt64(SuperpageBytes - 1)), Asks, Ends,
                 MDBuilder(C).createUnlikelyBranchWeights());
  B.SetInsertPoint(Asks);
  B.CreateCondBr(B.CreateIsNotNull(Filling), Calls, Ends);
  B.SetInsertPoint(Calls);
  SmallVector<Value *, 5> Arguments;
  for (Argument &A : Thunk.args())
    Arguments.push_back(&A);
  CallInst *Made = B.CreateCall(Filling, Arguments);
  Made->setTailCall(Thunk.getCallingConv() == CallingConv::C);
  B.CreateBr(Ends);
  B.SetInsertPoint(Ends);
  B.CreateRetVoid();
}

/// Returns the function that the expanded points of \p M call.
Function *largeFill(Module &M, const Names &Of) {
  Function *Known = M.getFunction(Of.Large);
  if (Known && (!Known->isDeclaration() || isAddedAsText(M)))
    return Known;
  if (isAddedAsText(M))
    return fillingText(M, Of.Large, Of.Filling, SuperpageBytes, markerType(M.getContext(), Of));
  Function *F = hiddenFunction(M, Of.Large, markerType(M.getContext(), Of));
  F->setCallingConv(keepsRegisters(M));
  F->addFnAttr(Attribute::NoInline);
  testAndCall(*F, Of);
  return F;
}

/// Returns the condition on which a point before an inner loop runs, and leaves it only the bytes
/// of its first iteration; null if \p Call asks in each iteration.
Value *takeFirstIteration(CallInst &Call, IRBuilder<> &B) {
  Value *Condition = nullptr;
  while (auto *First = dyn_cast<SelectInst>(Call.getArgOperand(2))) {
    auto *Else = dyn_cast<ConstantInt>(First->getFalseValue());
    if (!Else || !Else->isZero() || !isa<PHINode>(First->getCondition()))
      break;
    Condition = Condition ? B.CreateAnd(Condition, First->getCondition()) : First->getCondition();
    Call.setArgOperand(2, First->getTrueValue());
    if (First->use_empty())
      First->eraseFromParent();
  }
  return Condition;
}

void expand(CallInst &Call, Function &Large) {
  BasicBlock &From = *Call.getParent();
  Call.setCalledFunction(&Large);
  Call.setCallingConv(Large.getCallingConv());
  IRBuilder<> B(&Call); // with the call's location
  Value *Asks = takeFirstIteration(Call, B);
  Value *Written = Call.getArgOperand(2);
  if (!Asks && (isa<Constant>(Written) || Call.hasFnAttr(BeforeNestAttr)))
    return; // a constant was tested when the marker was inserted
  if (!Asks)
    Asks = B.CreateICmpUGT(Written, B.getInt64(SuperpageBytes - 1));
  Instruction *Cold =
      SplitBlockAndInsertIfThen(Asks, Call.getIterator(), /*Unreachable=*/false,
                                MDBuilder(B.getContext()).createUnlikelyBranchWeights());
  Call.moveBefore(*Cold->getParent(), Cold->getIterator());
  sinkInto(*Cold->getParent(), From);
}

} // namespace

Function *fillMarker(Module &M, FillKind Kind) {
  const Names &Of = NamesOf[static_cast<unsigned>(Kind)];
  Function *Known = M.getFunction(Of.Marker);
  if (Known && (!Known->isDeclaration() || isAddedAsText(M)))
    return Known;
  Function *F = hiddenFunction(M, Of.Marker, markerType(M.getContext(), Of));
  F->addFnAttr(Attribute::NoInline);
  if (isAddedAsText(M))
    leaveToGuards(*F);
  else
    testAndCall(*F, Of);
  return F;
}

static bool expandMarkersOf(Module &M, FunctionAnalysisManager &FAM, const Names &Of) {
  Function *Marker = M.getFunction(Of.Marker);
  // A link may have made the marker local and dropped an argument. That marker stays, and tests the
  // size.
  if (!Marker || Marker->arg_size() != Of.Parameters)
    return false;
  SmallVector<CallInst *, 16> Calls;
  for (User *U : Marker->users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getCalledFunction() == Marker)
      Calls.push_back(Call);
  for (CallInst *Call : Calls) {
    FAM.invalidate(*Call->getFunction(), PreservedAnalyses::none());
    expand(*Call, *largeFill(M, Of));
  }
  if (Marker->use_empty() && (Marker->isDiscardableIfUnused() || Marker->isDeclaration())) {
    FAM.clear(*Marker, Marker->getName());
    Marker->eraseFromParent();
  }
  return !Calls.empty();
}

bool expandFillMarkers(Module &M, FunctionAnalysisManager &FAM) {
  bool Any = false;
  for (const Names &Of : NamesOf)
    Any |= expandMarkersOf(M, FAM, Of);
  return Any;
}

} // namespace smalloc
