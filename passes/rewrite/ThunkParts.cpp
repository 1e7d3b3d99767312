//===- ThunkParts.cpp - parts of thunks -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/ThunkParts.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace smalloc {

constexpr StringRef OwnPrefix = "__smalloc_v1_";

void compileAsUnit(Module &M) {
  SmallVector<Function *, 16> Own;
  SmallVector<const Function *, 64> Others;
  for (Function &F : M)
    if (!F.isDeclaration()) {
      if (F.getName().starts_with(OwnPrefix))
        Own.push_back(&F);
      else
        Others.push_back(&F);
    }
  for (Function *F : Own) {
    auto Alike = find_if(Others, [&](const Function *Other) {
      return all_of(ArrayRef<StringRef>{"target-cpu", "target-features"}, [&](StringRef Name) {
        return F->getFnAttribute(Name) == Other->getFnAttribute(Name);
      });
    });
    if (Alike == Others.end())
      continue;
    for (StringRef Name : {"tune-cpu", "min-legal-vector-width", "prefer-vector-width",
                           "frame-pointer", "probe-stack"})
      if (Attribute A = (*Alike)->getFnAttribute(Name); A.isValid())
        F->addFnAttr(A);
  }
}

void makeHiddenComdat(Module &M, GlobalObject *G) {
  G->setLinkage(GlobalValue::LinkOnceODRLinkage);
  G->setVisibility(GlobalValue::HiddenVisibility);
  G->setComdat(M.getOrInsertComdat(G->getName()));
  G->setDSOLocal(true);
}

Function *hiddenFunction(Module &M, const Twine &Name, FunctionType *Type, bool MayThrow) {
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::LinkOnceODRLinkage, 0, "", &M);
  if (Function *Known = M.getFunction(Name.str()))
    Known->replaceAllUsesWith(F), Known->eraseFromParent();
  F->setName(Name);
  makeHiddenComdat(M, F);
  F->setUWTableKind(UWTableKind::Default);
  if (!MayThrow)
    F->setDoesNotThrow();
  return F;
}

Function *weakEntry(Module &M, StringRef Name, FunctionType *Type) {
  if (Function *Known = M.getFunction(Name))
    return Known;
  Function *F = Function::Create(Type, GlobalValue::ExternalWeakLinkage, Name, M);
  F->setDoesNotThrow();
  F->addFnAttr(
      Attribute::
          NonLazyBind); // the call goes through the GOT, too: no PLT entry for an absent function
  return F;
}

Function *announcer(GlobalVariable *Record, StringRef Name, StringRef EntryName,
                    function_ref<void(IRBuilder<> &, BasicBlock *End)> Fill) {
  Module &M = *Record->getParent();
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  Function *F = hiddenFunction(M, Name, FunctionType::get(Type::getVoidTy(C), false));
  F->addFnAttr(Attribute::NoInline); // run once: not worth the compiler's time
  F->addFnAttr(Attribute::OptimizeNone);
  Function *Entry = weakEntry(M, EntryName, FunctionType::get(Type::getVoidTy(C), {Ptr}, false));
  BasicBlock *Begin = BasicBlock::Create(C, "entry", F), *Call = BasicBlock::Create(C, "call", F),
             *End = BasicBlock::Create(C, "end", F);
  IRBuilder<> B(Begin);
  B.CreateCondBr(B.CreateICmpNE(Entry, ConstantPointerNull::get(Ptr)), Call, End);
  B.SetInsertPoint(Call);
  if (Fill)
    Fill(B, End);
  B.CreateCall(Entry, {Record});
  B.CreateBr(End);
  B.SetInsertPoint(End);
  B.CreateRetVoid();
  return F;
}

FamilyShape shapeOf(AllocFamily F) {
  switch (F) {
  case AllocFamily::Malloc:
    return {"__smalloc_v1_malloc", 0, -1, true};
  case AllocFamily::Calloc:
    return {"__smalloc_v1_calloc", 1, -1};
  case AllocFamily::Realloc:
    return {"__smalloc_v1_realloc", 1, -1};
  case AllocFamily::AlignedAlloc:
    return {"__smalloc_v1_aligned_alloc", 1, 0};
  case AllocFamily::PosixMemalign:
    return {"__smalloc_v1_posix_memalign", 2, 1};
  case AllocFamily::Valloc:
  case AllocFamily::Pvalloc:
    return {"__smalloc_v1_aligned_alloc", 0, -1, /*MayBeDirect=*/false, /*AsCalled=*/false};
  case AllocFamily::ReallocArray:
    return {"__smalloc_v1_realloc", 2, -1, /*MayBeDirect=*/false, /*AsCalled=*/false};
  case AllocFamily::New:
  case AllocFamily::NewArray:
  case AllocFamily::NewNothrow:
  case AllocFamily::NewArrayNothrow:
    return {"__smalloc_v1_new", 0, -1, true};
  case AllocFamily::NewAligned:
  case AllocFamily::NewArrayAligned:
  case AllocFamily::NewAlignedNothrow:
  case AllocFamily::NewArrayAlignedNothrow:
    return {"__smalloc_v1_new_aligned", 0, 1};
  case AllocFamily::Wrapper: // see ContextEntries.h
  case AllocFamily::FortranAllocate:
  case AllocFamily::FortranAssign:
  case AllocFamily::FortranSource:
  case AllocFamily::FortranCopyIn:
  case AllocFamily::Mapping:
    break;
  }
  llvm_unreachable("every family has a shape");
}

} // namespace smalloc
