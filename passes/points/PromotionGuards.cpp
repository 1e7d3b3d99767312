//===- PromotionGuards.cpp - cost of an idle promotion point --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/points/PromotionGuards.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/points/FillGuards.h"
#include "passes/rewrite/ThunkParts.h"
#include "passes/rewrite/ThunkText.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace smalloc {

constexpr StringRef PendingName = "__smalloc_v1_pending", TouchingName = "__smalloc_v1_touching",
                    LeftName = "__smalloc_v1_touch_left";

Constant *pendingObjects(Module &M) {
  if (GlobalVariable *Known = M.getNamedGlobal(PendingName))
    return Known;
  return new GlobalVariable(M, Type::getInt32Ty(M.getContext()), false,
                            GlobalValue::ExternalWeakLinkage, nullptr, PendingName);
}

Function *hiddenTouch(Module &M, StringRef Name) {
  LLVMContext &C = M.getContext();
  return hiddenFunction(M, Name,
                        FunctionType::get(Type::getVoidTy(C),
                                          {PointerType::getUnqual(C), Type::getInt64Ty(C)}, false));
}

/// True if the points of \p M count misses in a thread-local variable. In a shared library, finding
/// that variable costs as much as counting saves.
static bool countsBatches(const Module &M) {
  return M.getPICLevel() == PICLevel::NotPIC || M.getPIELevel() != PIELevel::Default;
}

/// Returns the thread-local variable with the misses that the thread may still count before it
/// reports. Code for executables may end up in a shared library, where a variable that is known to
/// be local could not be linked. So the code loads the variable's offset.
static GlobalVariable *leftOfBatch(Module &M) {
  if (GlobalVariable *Known = M.getNamedGlobal(LeftName))
    return Known;
  Type *I64 = Type::getInt64Ty(M.getContext());
  const bool AsText = isAddedAsText(M);
  auto *Left = new GlobalVariable(
      M, I64, false, AsText ? GlobalValue::ExternalLinkage : GlobalValue::LinkOnceODRLinkage,
      AsText ? nullptr : ConstantInt::get(I64, SMALLOC_TOUCH_BATCH), LeftName, nullptr,
      GlobalValue::InitialExecTLSModel);
  Left->setAlignment(Align(8));
  if (AsText) {
    leftText(M, LeftName);
    return Left;
  }
  Left->setComdat(M.getOrInsertComdat(LeftName));
  // Makes the variable hidden in the object file only: the compiler takes a hidden variable for a
  // local one. flang has no assembly parser.
  std::string Unknown;
  if (const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Unknown);
      T && T->hasMCAsmParser())
    M.appendModuleInlineAsm((".weak " + LeftName + "\n.hidden " + LeftName).str());
  return Left;
}

/// Emits code that subtracts \p Misses from the thread's count \p Left. Returns whether the count
/// was lower than \p Misses.
static Value *countMisses(IRBuilder<> &B, Value *Left, Value *Misses) {
  Value *Before = B.CreateAlignedLoad(B.getInt64Ty(), Left, Align(8));
  Value *Pair = B.CreateBinaryIntrinsic(Intrinsic::usub_with_overflow, Before, Misses);
  B.CreateAlignedStore(B.CreateExtractValue(Pair, 0), Left, Align(8));
  return B.CreateExtractValue(Pair, 1);
}

/// Fills \p Of, up to the branch to \p Call or \p Done, with code that counts misses. It reports a
/// batch and keeps counting the rest. So an object's share of batches is its share of misses, in
/// any order of points. It reports a point above a batch in full at once. Returns the misses to
/// report, in \p Call.
static Value *countInThunk(Function &Thunk, BasicBlock *Of, BasicBlock *Call, BasicBlock *Done) {
  IRBuilder<> B(Of);
  Value *Left = B.CreateThreadLocalAddress(leftOfBatch(*Thunk.getParent()));
  Value *Misses = Thunk.getArg(1), *Batch = B.getInt64(SMALLOC_TOUCH_BATCH);
  B.CreateCondBr(countMisses(B, Left, Misses), Call, Done,
                 MDBuilder(B.getContext()).createUnlikelyBranchWeights());
  B.SetInsertPoint(Call);
  Value *After = B.CreateAlignedLoad(B.getInt64Ty(), Left, Align(8)); // has wrapped below zero
  Value *Large = B.CreateICmpUGT(Misses, Batch);
  Value *All = B.CreateSub(Batch, After), *Rest = B.CreateAdd(After, Batch);
  B.CreateAlignedStore(B.CreateSelect(Large, Batch, Rest), Left, Align(8));
  return B.CreateSelect(Large, All, Batch);
}

void lookAndCall(Function &Thunk, bool Counts) {
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
  BasicBlock *Count = Counts ? BasicBlock::Create(C, "count", &Thunk, Call) : Call;
  B.CreateCondBr(B.CreateIsNotNull(Touching), Count, Done);
  Value *Misses = Counts ? countInThunk(Thunk, Count, Call, Done) : Thunk.getArg(1);
  B.SetInsertPoint(Call);
  CallInst *Made = B.CreateCall(Touching, {Thunk.getArg(0), Misses});
  Made->setTailCall(Thunk.getCallingConv() == CallingConv::C);
  B.CreateBr(Done);
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
}

namespace {

/// Erases the thunk of the points if no call uses it. Gives it its body if it is still a
/// declaration and used.
void settle(Function &Touch, FunctionAnalysisManager &FAM) {
  if (Touch.use_empty() && (Touch.isDiscardableIfUnused() || Touch.isDeclaration())) {
    FAM.clear(Touch, Touch.getName());
    Touch.eraseFromParent();
  } else if (Touch.isDeclaration() && isAddedAsText(*Touch.getParent())) {
    makeHiddenComdat(*Touch.getParent(), &Touch);
    lookAndCall(Touch, countsBatches(*Touch.getParent()));
  }
}

/// The guards call thunks by other names than TouchName: these preserve registers, as their callers
/// rely on. One image may contain units that count and units that do not, so each kind has its own
/// name.
constexpr StringRef WaitingName = "__smalloc_v1_touch_waiting",
                    CountingName = "__smalloc_v1_touch_counting";

/// True if a link made \p Touch local and dropped arguments that are the same in all calls.
bool isChanged(const Function &Touch) { return Touch.arg_size() != 2; }

/// Returns the thunk that replaces \p Touch. A \p Touch that a link has changed stays, and
/// preserves registers as well.
Function *waitingThunk(Module &M, Function &Touch, bool Counts) {
  if (isChanged(Touch) && Touch.hasLocalLinkage() && !Touch.hasAddressTaken()) {
    Touch.setCallingConv(keepsRegisters(M));
    for (User *U : Touch.users())
      cast<CallBase>(U)->setCallingConv(Touch.getCallingConv());
    return &Touch;
  }
  const StringRef Name = Counts ? CountingName : WaitingName;
  Function *Known = M.getFunction(Name);
  if (Known && !Known->isDeclaration())
    return Known;
  if (isAddedAsText(M))
    return waitingText(M, Name,
                       {PendingName, TouchingName, Counts ? leftOfBatch(M)->getName() : ""});
  Function *F = hiddenTouch(M, Name);
  F->setCallingConv(keepsRegisters(M));
  F->addFnAttr(Attribute::NoInline);
  lookAndCall(*F, Counts);
  return F;
}

void callInstead(CallInst &Call, Function &Waiting) {
  Call.setCalledFunction(&Waiting);
  Call.setCallingConv(Waiting.getCallingConv());
  if (Waiting.arg_size() != 2)
    return;
  if (auto *Misses = dyn_cast<ConstantInt>(Call.getArgOperand(1)); Misses && Misses->isZero())
    Call.setArgOperand(1, ConstantInt::get(Misses->getType(), 1)); // at least one
}

/// True if the point is worth a batch by itself: each execution of it calls libsmalloc.
bool isLarge(const CallInst *Call) {
  auto *Misses = dyn_cast<ConstantInt>(Call->getArgOperand(1));
  return Misses && Misses->getValue().uge(SMALLOC_TOUCH_BATCH);
}

/// Counts the misses of \p Calls inline, in the block of \p Waits. Usually nothing else runs.
/// Returns the place for the calls, which is reached when the count runs out. There the misses are
/// added back, since the thunk counts them.
Instruction *countInLine(ArrayRef<CallInst *> Calls, Instruction *Waits) {
  IRBuilder<> B(Waits);
  Value *Sum = Calls.front()->getArgOperand(1);
  for (CallInst *Call : drop_begin(Calls))
    Sum = B.CreateAdd(Sum, Call->getArgOperand(1));
  Value *Left = B.CreateThreadLocalAddress(leftOfBatch(*Waits->getModule()));
  MDNode *Unlikely = MDBuilder(Waits->getContext()).createUnlikelyBranchWeights();
  Instruction *Ask = SplitBlockAndInsertIfThen(countMisses(B, Left, Sum), Waits,
                                               /*Unreachable=*/false, Unlikely);
  B.SetInsertPoint(Ask);
  Value *After = B.CreateAlignedLoad(B.getInt64Ty(), Left, Align(8));
  B.CreateAlignedStore(B.CreateAdd(After, Sum), Left, Align(8));
  return Ask;
}

/// Moves the calls, in order, before \p At, and with them what only they use in \p From.
void moveCalls(ArrayRef<CallInst *> Calls, Instruction *At, BasicBlock &From) {
  for (CallInst *Call : Calls)
    Call->moveBefore(*At->getParent(), At->getIterator());
  sinkInto(*At->getParent(), From);
}

/// Moves the calls of one block, in order, behind one test at the last of them. The block sees no
/// change by the calls.
void guard(ArrayRef<CallInst *> Calls, Constant *Pending, Function *Waiting, bool Counts) {
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
  for (CallInst *Call : Calls)
    callInstead(*Call, *Waiting);
  moveCalls(Calls, Cold, *From);
  if (Counts && none_of(Calls, isLarge)) {
    BasicBlock *Counting = Cold->getParent();
    moveCalls(Calls, countInLine(Calls, Cold), *Counting);
  }
}

} // namespace

/// Expands the calls of the promotion points of \p M. Returns true if there was one.
static bool expandTouches(Module &M, FunctionAnalysisManager &FAM) {
  Function *Touch = M.getFunction(TouchName);
  if (!Touch)
    return false;
  SmallMapVector<BasicBlock *, SmallVector<CallInst *, 2>, 16> Calls;
  for (User *U : Touch->users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getCalledFunction() == Touch &&
                                            !Call->getFunction()->hasOptSize() &&
                                            (Touch->hasLocalLinkage() || Call->arg_size() == 2))
      Calls[Call->getParent()].push_back(Call);
  if (Calls.empty()) {
    settle(*Touch, FAM);
    return false;
  }
  Constant *Pending = pendingObjects(M);
  const bool Counts = countsBatches(M) && !isChanged(*Touch);
  Function *Waiting = waitingThunk(M, *Touch, Counts);
  for (auto &[Block, InBlock] : Calls) {
    llvm::sort(InBlock, [](const CallInst *A, const CallInst *B) { return A->comesBefore(B); });
    FAM.invalidate(*Block->getParent(), PreservedAnalyses::none());
    if (all_of(InBlock, [](CallInst *Call) { return Call->hasFnAttr(BeforeNestAttr); }))
      for (CallInst *Call : InBlock)
        callInstead(*Call, *Waiting);
    else
      guard(InBlock, Pending, Waiting, Counts);
  }
  settle(*Touch, FAM);
  return true;
}

PreservedAnalyses PromotionGuardsPass::run(Module &M, ModuleAnalysisManager &AM) {
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  const bool Fills = expandFillMarkers(M, FAM), Touches = expandTouches(M, FAM);
  if (!Fills && !Touches)
    return PreservedAnalyses::all();
  compileAsUnit(M);
  PreservedAnalyses Preserved;
  Preserved.preserve<FunctionAnalysisManagerModuleProxy>();
  Preserved.preserveSet<AllAnalysesOn<Function>>();
  return Preserved;
}

} // namespace smalloc
