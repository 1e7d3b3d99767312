//===- RecordingCallbacks.cpp - code that records one access --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/RecordingCallbacks.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/rewrite/ThunkParts.h"
#include "smalloc/access.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace smalloc {

static void call(Instruction *Before, Function *Library, ArrayRef<Value *> Arguments) {
  CallInst *Call = IRBuilder<>(Before).CreateCall(Library, Arguments);
  Call->setCallingConv(Library->getCallingConv());
  Call->setDoesNotThrow();
}

RecordingCallbacks::RecordingCallbacks(Module &M, StringRef Directory)
    : M(M), C(M.getContext()), I32(Type::getInt32Ty(C)), I64(Type::getInt64Ty(C)),
      Ptr(PointerType::getUnqual(C)),
      Layout(StructType::get(C, {I32, I32, I64, Ptr, Ptr, Ptr, Ptr, I64, I64, Ptr, Ptr, Ptr})),
      Reference(StructType::get(C, {I64, I64})) {
  static_assert(sizeof(smalloc_gate) == 88 && sizeof(smalloc_walk_reference) == 16 &&
                    offsetof(smalloc_recorded, end) == 8,
                "the fields here follow smalloc/access.h");
  Constant *Null = ConstantPointerNull::get(Ptr);
  Constant *Text = ConstantDataArray::getString(C, Directory);
  auto *Name = new GlobalVariable(M, Text->getType(), true, GlobalValue::PrivateLinkage, Text,
                                  "smalloc.directory");
  Record =
      new GlobalVariable(M, Layout, /*isConstant=*/false, GlobalValue::LinkOnceODRLinkage,
                         ConstantStruct::get(Layout, {ConstantInt::get(I32, SMALLOC_GATE_VERSION),
                                                      ConstantInt::get(I32, sizeof(smalloc_gate)),
                                                      ConstantInt::get(I64, 0), Null, Null, Name,
                                                      Null, ConstantInt::get(I64, 0),
                                                      ConstantInt::get(I64, 0), Null, Null, Null}),
                         "__smalloc_v1_gate5");
  makeHiddenComdat(M, Record);
  Record->setExternallyInitialized(true); // the library fills it in: never folded
  appendToCompilerUsed(M, {Record});
}

Value *RecordingCallbacks::every(IRBuilder<> &B) {
  return B.CreateICmpNE(relaxed(B, 8), B.getInt64(0));
}

bool RecordingCallbacks::hasRegions() const {
  // On other targets an address may carry a tag, or have more bits.
  return targetTriple(M).getArch() == Triple::x86_64;
}

Value *RecordingCallbacks::regions(IRBuilder<> &B) {
  LoadInst *L = B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Layout, Record, 10), Align(8));
  L->setAtomic(AtomicOrdering::Acquire); // a non-null table implies a valid look entry
  return L;
}

void RecordingCallbacks::look(Instruction *Before, Value *Entry) {
  if (!Look)
    Look = makeCall("__smalloc_v1_look5", 11, {Ptr});
  call(Before, Look, {Entry});
}

bool RecordingCallbacks::hasMemory() const {
  const Triple T = targetTriple(M);
  return T.getArch() == Triple::x86_64 || T.isAArch64();
}

Value *RecordingCallbacks::told(IRBuilder<> &B) {
  Value *Offset = B.CreateAlignedLoad(I64, B.CreateStructGEP(Layout, Record, 7), Align(8));
  return B.CreateGEP(B.getInt8Ty(), B.CreateIntrinsic(Intrinsic::thread_pointer, {Ptr}, {}),
                     Offset);
}

void RecordingCallbacks::tell(Instruction *Before, Value *Tagged, Rate HowOften) {
  if (!Tell)
    Tell = makeCall("__smalloc_v1_tell5", 3, {I64});
  if (!hasMemory()) {
    call(Before, Tell, {Tagged});
  } else if (HowOften == Rate::Often) {
    call(intoMemory(Before, Tagged), Tell, {Tagged});
  } else {
    if (!Append) {
      Append = hiddenFunction(M, "__smalloc_v1_append5",
                              FunctionType::get(Type::getVoidTy(C), {I64}, false));
      Append->addFnAttr(Attribute::NoInline);
      Append->setCallingConv(CallingConv::PreserveMost);
      Instruction *End = ReturnInst::Create(C, BasicBlock::Create(C, "entry", Append));
      call(intoMemory(End, Append->getArg(0)), Tell, {Append->getArg(0)});
    }
    call(Before, Append, {Tagged});
  }
}

void RecordingCallbacks::tellTogether(Value *Told, ArrayRef<Together> All) {
  if (!Room)
    Room = makeCall("__smalloc_v1_room5", 9, {});
  Instruction *First = All.front().Before;
  IRBuilder<> B(First);
  Value *Next = B.CreateAlignedLoad(Ptr, Told, Align(8));
  Value *Full = B.CreateICmpUGE(Next, end(B, Told));
  BasicBlock *Head = First->getParent();
  Instruction *Then = SplitBlockAndInsertIfThen(Full, First->getIterator(), /*Unreachable=*/false,
                                                MDBuilder(C).createUnlikelyBranchWeights());
  call(Then, Room, {});
  B.SetInsertPoint(Then);
  Value *Made = B.CreateAlignedLoad(Ptr, Told, Align(8));
  B.SetInsertPoint(First);
  PHINode *Place = B.CreatePHI(Ptr, 2);
  Place->addIncoming(Next, Head);
  Place->addIncoming(Made, Then->getParent());
  Value *At = Place;
  for (const Together &T : All) {
    B.SetInsertPoint(T.Before);
    B.CreateAlignedStore(tagged(B, B.CreatePtrToInt(T.Pointer, I64), T.Writes), At, Align(8));
    At =
        T.Lane ? B.CreateGEP(I64, At, B.CreateZExt(T.Lane, I64)) : B.CreateConstGEP1_64(I64, At, 1);
  }
  B.CreateAlignedStore(At, Told, Align(8));
}

Value *RecordingCallbacks::tagged(IRBuilder<> &B, Value *Address, bool Writes) {
  return Writes ? B.CreateOr(Address, B.getInt64(SMALLOC_ACCESS_WRITES)) : Address;
}

void RecordingCallbacks::tellWalk(IRBuilder<> &B, Value *Iterations,
                                  ArrayRef<std::pair<Value *, Value *>> References, Value *Area) {
  for (auto [I, R] : enumerate(References)) {
    Value *At = B.CreateConstInBoundsGEP1_64(Reference, Area, I);
    B.CreateAlignedStore(R.first, B.CreateStructGEP(Reference, At, 0), Align(8));
    B.CreateAlignedStore(R.second, B.CreateStructGEP(Reference, At, 1), Align(8));
  }
  Value *Entry = B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Layout, Record, 4), Align(8));
  CallInst *Call =
      B.CreateCall(FunctionType::get(Type::getVoidTy(C), {I64, I64, Ptr}, false), Entry,
                   {Iterations, ConstantInt::get(I64, References.size()), Area});
  Call->setDoesNotThrow();
}

AllocaInst *RecordingCallbacks::area(IRBuilder<> &B, unsigned References) {
  return B.CreateAlloca(ArrayType::get(Reference, References), nullptr, "smalloc.walk");
}

void RecordingCallbacks::announce() {
  auto *Open = announcer(Record, "__smalloc_v1_gate5_open", "__smalloc_v1_open_gate");
  auto *Close = announcer(Record, "__smalloc_v1_gate5_close", "__smalloc_v1_close_gate");
  appendToGlobalCtors(M, Open, /*Priority=*/0, Open);
  appendToGlobalDtors(M, Close, /*Priority=*/0, Close);
}

Value *RecordingCallbacks::relaxed(IRBuilder<> &B, unsigned Field) {
  LoadInst *L = B.CreateAlignedLoad(I64, B.CreateStructGEP(Layout, Record, Field), Align(8));
  L->setAtomic(AtomicOrdering::Monotonic);
  return L;
}

Value *RecordingCallbacks::end(IRBuilder<> &B, Value *Told) {
  return B.CreateAlignedLoad(Ptr, B.CreateConstGEP1_64(I64, Told, 1), Align(8));
}

/// Makes a function that calls one of the gate's entries.
Function *RecordingCallbacks::makeCall(StringRef Name, unsigned Field,
                                       ArrayRef<Type *> Parameters) {
  Function *Library =
      hiddenFunction(M, Name, FunctionType::get(Type::getVoidTy(C), Parameters, false));
  Library->addFnAttr(Attribute::NoInline);
  Library->addFnAttr(Attribute::Cold);
  IRBuilder<> B(BasicBlock::Create(C, "entry", Library));
  Value *Entry = B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Layout, Record, Field), Align(8));
  SmallVector<Value *, 1> Arguments(make_pointer_range(Library->args()));
  B.CreateCall(Library->getFunctionType(), Entry, Arguments)->setDoesNotThrow();
  B.CreateRetVoid();
  if (hasMemory())
    Library->setCallingConv(CallingConv::PreserveMost);
  return Library;
}

/// Stores \p Tagged into the thread's memory. Returns the instruction that runs only if there is no
/// room.
Instruction *RecordingCallbacks::intoMemory(Instruction *Before, Value *Tagged) {
  BasicBlock *Head = Before->getParent();
  BasicBlock *Tail = Head->splitBasicBlock(Before->getIterator(), "smalloc.go.on");
  Function *F = Head->getParent();
  BasicBlock *HasRoom = BasicBlock::Create(C, "smalloc.room", F, Tail),
             *Full = BasicBlock::Create(C, "smalloc.full", F, Tail);
  Head->getTerminator()->eraseFromParent();
  IRBuilder<> B(Head);
  Value *Told = told(B);
  Value *Next = B.CreateAlignedLoad(Ptr, Told, Align(8));
  B.CreateCondBr(B.CreateICmpUGE(Next, end(B, Told)), Full, HasRoom,
                 MDBuilder(C).createUnlikelyBranchWeights());
  B.SetInsertPoint(HasRoom);
  B.CreateAlignedStore(Tagged, Next, Align(8));
  B.CreateAlignedStore(B.CreateConstGEP1_64(I64, Next, 1), Told, Align(8));
  B.CreateBr(Tail);
  B.SetInsertPoint(Full);
  return B.CreateBr(Tail);
}

} // namespace smalloc
