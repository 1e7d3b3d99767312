//===- FillGuards.cpp - cost of a fill point when the fill is small -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/FillGuards.h"
#include "passes/decisions/UnitSites.h"
#include "passes/points/PointParts.h"
#include "passes/rewrite/ThunkText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef FillingName = "__smalloc_v1_filling", MarkerName = "__smalloc_v1_ask_filling",
                    LargeName = "__smalloc_v1_large_fill";
constexpr unsigned Parameters = 3;

FunctionType *markerType(LLVMContext &C) {
  Type *I64 = Type::getInt64Ty(C);
  return FunctionType::get(Type::getVoidTy(C), {PointerType::getUnqual(C), I64, I64}, false);
}

/// Gives \p Thunk its body: it calls libsmalloc, if present, for fills of at least a superpage.
void testAndCall(Function &Thunk) {
  Module &M = *Thunk.getParent();
  LLVMContext &C = M.getContext();
  Function *Filling = M.getFunction(FillingName);
  if (!Filling)
    Filling = Function::Create(markerType(C), GlobalValue::ExternalWeakLinkage, FillingName, M);
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
  CallInst *Made = B.CreateCall(Filling, {Thunk.getArg(0), Thunk.getArg(1), Thunk.getArg(2)});
  Made->setTailCall(Thunk.getCallingConv() == CallingConv::C);
  B.CreateBr(Ends);
  B.SetInsertPoint(Ends);
  B.CreateRetVoid();
}

/// Returns the function that the expanded points of \p M call.
Function *largeFill(Module &M) {
  Function *Known = M.getFunction(LargeName);
  if (Known && (!Known->isDeclaration() || isAddedAsText(M)))
    return Known;
  if (isAddedAsText(M))
    return fillingText(M, LargeName, FillingName, SuperpageBytes, markerType(M.getContext()));
  Function *F = hiddenPoint(M, LargeName, markerType(M.getContext()));
  F->setCallingConv(keepsRegisters(M));
  F->addFnAttr(Attribute::NoInline);
  testAndCall(*F);
  return F;
}

void expand(CallInst &Call, Function &Large) {
  BasicBlock &From = *Call.getParent();
  Value *Written = Call.getArgOperand(2);
  Call.setCalledFunction(&Large);
  Call.setCallingConv(Large.getCallingConv());
  if (isa<Constant>(Written) || Call.hasFnAttr(BeforeNestAttr))
    return;             // a constant was tested when the marker was inserted
  IRBuilder<> B(&Call); // with the call's location
  Instruction *Cold = SplitBlockAndInsertIfThen(
      B.CreateICmpUGT(Written, B.getInt64(SuperpageBytes - 1)), Call.getIterator(),
      /*Unreachable=*/false, MDBuilder(B.getContext()).createUnlikelyBranchWeights());
  Call.moveBefore(*Cold->getParent(), Cold->getIterator());
  for (Value *Argument : Call.args())
    sink(Argument, &Call, From);
}

} // namespace

Function *fillMarker(Module &M) {
  Function *Known = M.getFunction(MarkerName);
  if (Known && (!Known->isDeclaration() || isAddedAsText(M)))
    return Known;
  Function *F = hiddenPoint(M, MarkerName, markerType(M.getContext()));
  F->addFnAttr(Attribute::NoInline);
  if (isAddedAsText(M))
    leaveToGuards(*F);
  else
    testAndCall(*F);
  return F;
}

bool expandFillMarkers(Module &M, FunctionAnalysisManager &FAM) {
  Function *Marker = M.getFunction(MarkerName);
  // A link may have made the marker local and dropped an argument. That marker stays, and tests the
  // size.
  if (!Marker || Marker->arg_size() != Parameters)
    return false;
  SmallVector<CallInst *, 16> Calls;
  for (User *U : Marker->users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getCalledFunction() == Marker)
      Calls.push_back(Call);
  for (CallInst *Call : Calls) {
    FAM.invalidate(*Call->getFunction(), PreservedAnalyses::none());
    expand(*Call, *largeFill(M));
  }
  if (Marker->use_empty() && (Marker->isDiscardableIfUnused() || Marker->isDeclaration()))
    Marker->eraseFromParent();
  return !Calls.empty();
}

} // namespace smalloc
