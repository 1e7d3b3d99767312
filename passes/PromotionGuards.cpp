//===- PromotionGuards.cpp - what a promotion point costs when nothing waits ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PromotionGuards.h"
#include "ThunkText.h"
#include "Thunks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace smalloc {

constexpr StringRef PendingName = "__smalloc_v1_pending", TouchingName = "__smalloc_v1_touching";

Constant *pendingObjects(Module &M) {
  if (GlobalVariable *Known = M.getNamedGlobal(PendingName))
    return Known;
  return new GlobalVariable(M, Type::getInt32Ty(M.getContext()), false,
                            GlobalValue::ExternalWeakLinkage, nullptr, PendingName);
}

Function *hiddenTouch(Module &M, StringRef Name) {
  LLVMContext &C = M.getContext();
  FunctionType *Type = FunctionType::get(Type::getVoidTy(C),
                                         {PointerType::getUnqual(C), Type::getInt64Ty(C)}, false);
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::LinkOnceODRLinkage, 0, "", &M);
  // ThinLTO drops the body of a thunk whose copy in another unit prevails, dead then.
  if (Function *Known = M.getFunction(Name))
    Known->replaceAllUsesWith(F), Known->eraseFromParent();
  F->setName(Name);
  makeHiddenComdat(M, F);
  F->setDoesNotThrow();
  F->setUWTableKind(UWTableKind::Default);
  return F;
}

void lookAndCall(Function &Thunk) {
  Module &M = *Thunk.getParent();
  Function *Touching = M.getFunction(TouchingName);
  if (!Touching)
    Touching = Function::Create(Thunk.getFunctionType(), GlobalValue::ExternalWeakLinkage,
                                TouchingName, M);
  Touching->setDoesNotThrow();
  Touching->addFnAttr(Attribute::NonLazyBind);
  Constant *Pending = pendingObjects(M);
  LLVMContext &C = M.getContext();
  auto Block = [&](const char *Name) { return BasicBlock::Create(C, Name, &Thunk); };
  BasicBlock *Entry = Block("entry"), *Look = Block("look"), *Wait = Block("wait"),
             *Call = Block("call"), *Done = Block("done");
  IRBuilder<> B(Entry);
  B.CreateCondBr(B.CreateIsNotNull(Pending), Look, Done);
  B.SetInsertPoint(Look);
  LoadInst *Waiting = B.CreateAlignedLoad(Type::getInt32Ty(C), Pending, Align(4));
  Waiting->setAtomic(AtomicOrdering::Monotonic);
  B.CreateCondBr(B.CreateIsNotNull(Waiting), Wait, Done,
                 MDBuilder(C).createUnlikelyBranchWeights());
  B.SetInsertPoint(Wait);
  B.CreateCondBr(B.CreateIsNotNull(Touching), Call, Done);
  B.SetInsertPoint(Call);
  CallInst *Made = B.CreateCall(Touching, {Thunk.getArg(0), Thunk.getArg(1)});
  Made->setTailCall(Thunk.getCallingConv() == CallingConv::C);
  B.CreateBr(Done);
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
}

void leaveToGuards(Function &Thunk) {
  Thunk.setComdat(nullptr);
  Thunk.setLinkage(GlobalValue::ExternalLinkage);
}

namespace {

/// What is left of the thunk before the guards: gone when nobody calls it, built now when it was left to them.
void settle(Function &Touch) {
  if (Touch.use_empty() && (Touch.hasLinkOnceODRLinkage() || Touch.isDeclaration())) {
    Touch.eraseFromParent();
  } else if (Touch.isDeclaration() && isAddedAsText(*Touch.getParent())) {
    makeHiddenComdat(*Touch.getParent(), &Touch);
    lookAndCall(Touch);
  }
}

/// Another name than the call before the guards: this one keeps registers, as its callers rely on.
constexpr StringRef WaitingName = "__smalloc_v1_touch_waiting";

CallingConv::ID keepsRegisters(const Module &M) {
  const Triple &T = M.getTargetTriple();
  return T.getArch() == Triple::x86_64 || T.isAArch64() ? CallingConv::PreserveMost
                                                        : CallingConv::C;
}

/// What \p Touch becomes. A link may have made it its own and dropped arguments that are the same
/// in all calls; then it stays, and keeps registers as well.
Function *waitingThunk(Module &M, Function &Touch) {
  if (Touch.hasLocalLinkage() && !Touch.hasAddressTaken()) {
    Touch.setCallingConv(keepsRegisters(M));
    for (User *U : Touch.users())
      cast<CallBase>(U)->setCallingConv(Touch.getCallingConv());
    return &Touch;
  }
  Function *Known = M.getFunction(WaitingName);
  if (Known && !Known->isDeclaration())
    return Known;
  if (isAddedAsText(M))
    return waitingText(M, WaitingName, PendingName, TouchingName);
  Function *F = hiddenTouch(M, WaitingName);
  F->setCallingConv(keepsRegisters(M));
  F->addFnAttr(Attribute::NoInline);
  lookAndCall(*F);
  return F;
}

/// Moves what only the call needs to it, from the block that ends with the test.
void sinkArguments(CallInst &Call, BasicBlock &From) {
  SmallVector<Value *, 8> Wanted(Call.args());
  Instruction *Before = &Call;
  while (!Wanted.empty()) {
    auto *I = dyn_cast<Instruction>(Wanted.pop_back_val());
    if (!I || I->getParent() != &From || !I->hasOneUse() || isa<PHINode>(I) || I->isEHPad() ||
        I->mayReadOrWriteMemory() || I->mayHaveSideEffects())
      continue;
    I->moveBefore(Before->getIterator());
    Before = I;
    append_range(Wanted, I->operands());
  }
}

void callInstead(CallInst &Call, Function &Waiting) {
  Call.setCalledFunction(&Waiting);
  Call.setCallingConv(Waiting.getCallingConv());
}

/// Puts the calls of one block, in order, behind one test where the last is: they change nothing that the block sees.
void guard(ArrayRef<CallInst *> Calls, Constant *Pending, Function *Waiting) {
  CallInst *Last = Calls.back();
  Type *I32 = Type::getInt32Ty(Last->getContext());
  BasicBlock *From = Last->getParent();
  IRBuilder<> B(Last); // with the call's location
  Value *Present = B.CreateIsNotNull(Pending);
  Instruction *Look = SplitBlockAndInsertIfThen(Present, Last, /*Unreachable=*/false);
  B.SetInsertPoint(Look);
  LoadInst *Objects = B.CreateAlignedLoad(I32, Pending, Align(4));
  Objects->setAtomic(AtomicOrdering::Monotonic);
  MDNode *Unlikely = MDBuilder(Last->getContext()).createUnlikelyBranchWeights();
  Instruction *Cold = SplitBlockAndInsertIfThen(B.CreateIsNotNull(Objects), Look,
                                                /*Unreachable=*/false, Unlikely);
  for (CallInst *Call : Calls) {
    Call->moveBefore(Cold->getIterator());
    callInstead(*Call, *Waiting);
    sinkArguments(*Call, *From);
  }
}

} // namespace

PreservedAnalyses PromotionGuardsPass::run(Module &M, ModuleAnalysisManager &AM) {
  Function *Touch = M.getFunction(TouchName);
  if (!Touch)
    return PreservedAnalyses::all();
  SmallMapVector<BasicBlock *, SmallVector<CallInst *, 2>, 16> Calls;
  for (User *U : Touch->users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getCalledFunction() == Touch &&
                                            !Call->getFunction()->hasOptSize() &&
                                            (Touch->hasLocalLinkage() || Call->arg_size() == 2))
      Calls[Call->getParent()].push_back(Call);
  if (Calls.empty()) {
    settle(*Touch);
    return PreservedAnalyses::all();
  }
  Constant *Pending = pendingObjects(M);
  Function *Waiting = waitingThunk(M, *Touch);
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  for (auto &[Block, InBlock] : Calls) {
    llvm::sort(InBlock, [](const CallInst *A, const CallInst *B) { return A->comesBefore(B); });
    FAM.invalidate(*Block->getParent(), PreservedAnalyses::none());
    if (all_of(InBlock, [](CallInst *Call) { return Call->hasFnAttr(BeforeNestAttr); }))
      for (CallInst *Call : InBlock)
        callInstead(*Call, *Waiting);
    else
      guard(InBlock, Pending, Waiting);
  }
  settle(*Touch);
  compileAsUnit(M);
  PreservedAnalyses Preserved;
  Preserved.preserve<FunctionAnalysisManagerModuleProxy>();
  Preserved.preserveSet<AllAnalysesOn<Function>>();
  return Preserved;
}

} // namespace smalloc
