//===- ContextEntries.cpp - passes a context's cell to its callee ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/ContextEntries.h"
#include "passes/rewrite/ThunkText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace smalloc {
namespace {

FunctionType *withCell(const FunctionType *Type) {
  SmallVector<llvm::Type *, 4> Parameters(Type->params());
  Parameters.push_back(PointerType::getUnqual(Type->getContext()));
  return FunctionType::get(Type->getReturnType(), Parameters, false);
}

/// Returns a tag of the prototype, so that callers with different prototypes do not share a thunk.
std::string typeTag(const FunctionType *Type) {
  std::string Text;
  raw_string_ostream(Text) << *Type;
  return utohexstr(xxh3_64bits(Text) & 0xffffffff, /*LowerCase=*/true, /*Width=*/8);
}

/// Emits the record by which other units find the second entry of \p F.
void emitRecord(Module &M, Function &F, Function &Entry, KeptVariables &Kept) {
  PointerType *Ptr = PointerType::getUnqual(M.getContext());
  StructType *Type = StructType::get(M.getContext(), {Ptr, Ptr});
  // The alias is this definition, even if the dynamic linker binds the name to another one.
  auto *Own = GlobalAlias::create(F.getValueType(), 0, GlobalValue::InternalLinkage,
                                  "__smalloc_v1_own_" + F.getName(), &F, &M);
  // Weak: if the linker allows two definitions in an image, the first function and its record stay.
  auto *Record = new GlobalVariable(M, Type, /*isConstant=*/true, GlobalValue::WeakAnyLinkage,
                                    ConstantStruct::get(Type, {Own, &Entry}));
  std::string Name = (WrapperRecordPrefix + F.getName()).str();
  if (GlobalVariable *Absent = M.getNamedGlobal(Name)) { // a thunk referred to it earlier
    Absent->replaceAllUsesWith(Record);
    Absent->eraseFromParent();
  }
  Record->setName(Name);
  Record->setVisibility(GlobalValue::HiddenVisibility);
  Kept.ForUnit.push_back(Record);
}

} // namespace

Function *entryWithCell(Module &M, const AllocationWrapper &W) {
  std::string Name = (EntryPrefix + W.F->getName()).str();
  if (Function *Known = M.getFunction(Name))
    return Known;
  Function *F = Function::Create(withCell(W.F->getFunctionType()), GlobalValue::InternalLinkage,
                                 W.F->getAddressSpace(), Name, &M);
  F->setCallingConv(W.F->getCallingConv());
  return F;
}

/// Returns the attributes of \p F that say how its narrow result is extended.
static AttrBuilder extensionOfResult(const Function &F) {
  AttrBuilder Narrow(F.getContext());
  for (Attribute::AttrKind Kind : {Attribute::ZExt, Attribute::SExt})
    if (F.hasRetAttribute(Kind))
      Narrow.addAttribute(Kind);
  return Narrow;
}

/// Makes the hidden function \p Name that a context's call of \p Callee goes through.
static Function *emptyContextThunk(Module &M, StringRef Name, const Function &Callee) {
  LLVMContext &C = M.getContext();
  Function *F = hiddenFunction(M, Name, withCell(Callee.getFunctionType()), !Callee.doesNotThrow());
  F->setCallingConv(Callee.getCallingConv());
  for (unsigned I = 0; I < Callee.arg_size(); ++I) // extensions of narrow arguments
    F->addParamAttrs(I, AttrBuilder(C, Callee.getAttributes().getParamAttrs(I)));
  F->addRetAttrs(extensionOfResult(Callee));
  return F;
}

/// Returns the record of the second entry of \p Callee; absent from images without such an entry.
static GlobalVariable *recordOf(Module &M, const Function &Callee) {
  std::string Name = (WrapperRecordPrefix + Callee.getName()).str();
  if (GlobalVariable *Known = M.getNamedGlobal(Name))
    return Known;
  PointerType *Ptr = PointerType::getUnqual(M.getContext());
  auto *Record =
      new GlobalVariable(M, StructType::get(M.getContext(), {Ptr, Ptr}), /*isConstant=*/true,
                         GlobalValue::ExternalWeakLinkage, nullptr, Name);
  // Loaded from the GOT although hidden: an absent symbol has no address that code could be
  // relative to.
  Record->setVisibility(GlobalValue::HiddenVisibility);
  Record->setDSOLocal(false);
  return Record;
}

/// Emits a tail call of \p Target with \p Passed, in the way that \p Callee is called.
static void forward(IRBuilder<> &B, const Function &Callee, FunctionCallee Target,
                    ArrayRef<Value *> Passed) {
  LLVMContext &C = B.getContext();
  CallInst *Call = B.CreateCall(Target, Passed);
  Call->setCallingConv(Callee.getCallingConv());
  for (unsigned I = 0; I < Callee.arg_size(); ++I)
    Call->setAttributes(Call->getAttributes().addParamAttributes(
        C, I, AttrBuilder(C, Callee.getAttributes().getParamAttrs(I))));
  Call->setAttributes(Call->getAttributes().addRetAttributes(C, extensionOfResult(Callee)));
  Call->setTailCall();
  if (Call->getType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
}

Function *contextThunk(Module &M, Function &Callee) {
  std::string Name =
      (ContextThunkPrefix + typeTag(Callee.getFunctionType()) + "_" + Callee.getName()).str();
  if (Function *Known = M.getFunction(Name); Known && !Known->isDeclaration())
    return Known;
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  Function *F = emptyContextThunk(M, Name, Callee);
  GlobalVariable *Record = recordOf(M, Callee);
  auto Block = [&](const char *BlockName) { return BasicBlock::Create(C, BlockName, F); };
  BasicBlock *Begin = Block("entry"), *Look = Block("look"), *With = Block("with"),
             *Plain = Block("plain");
  SmallVector<Value *, 4> All, Arguments;
  for (Argument &A : F->args())
    All.push_back(&A);
  Arguments.assign(All.begin(), All.end() - 1);
  IRBuilder<> B(Begin);
  B.CreateCondBr(B.CreateICmpNE(Record, ConstantPointerNull::get(Ptr)), Look, Plain);
  B.SetInsertPoint(Look);
  Value *Own = B.CreateAlignedLoad(Ptr, Record, Align(8));
  B.CreateCondBr(B.CreateICmpEQ(Own, &Callee), With, Plain);
  B.SetInsertPoint(With);
  Value *Entry =
      B.CreateAlignedLoad(Ptr, B.CreateStructGEP(Record->getValueType(), Record, 1), Align(8));
  forward(B, Callee, {F->getFunctionType(), Entry}, All);
  B.SetInsertPoint(Plain);
  forward(B, Callee, {Callee.getFunctionType(), &Callee}, Arguments);
  return F;
}

void defineEntries(Module &M, const AllocationWrappers &Wrappers,
                   const DenseMap<const CallBase *, CallBase *> &Rewritten, KeptVariables &Kept,
                   function_ref<void(CallBase &, Value *)> Steer) {
  SmallVector<const AllocationWrapper *, 8> Work;
  DenseSet<const AllocationWrapper *> Queued;
  auto Queue = [&](const AllocationWrapper *W) {
    if (Queued.insert(W).second)
      Work.push_back(W);
  };
  for (const AllocationWrapper *W : Wrappers.all())
    if (W->Exported || M.getFunction((EntryPrefix + W->F->getName()).str()))
      Queue(W);
  for (size_t I = 0; I < Work.size(); ++I) {
    const AllocationWrapper &W = *Work[I];
    Function *Entry = entryWithCell(M, W);
    ValueToValueMapTy Map;
    for (unsigned A = 0; A < W.F->arg_size(); ++A) {
      Map[W.F->getArg(A)] = Entry->getArg(A);
      Entry->getArg(A)->setName(W.F->getArg(A)->getName());
    }
    SmallVector<ReturnInst *, 4> Returns;
    CloneFunctionInto(Entry, W.F, Map, CloneFunctionChangeType::LocalChangesOnly, Returns);
    Entry->setMetadata(EntryOfMetadata, MDNode::get(M.getContext(), ValueAsMetadata::get(W.F)));
    Entry->setLinkage(GlobalValue::InternalLinkage);
    Entry->setVisibility(GlobalValue::DefaultVisibility);
    Entry->setComdat(nullptr);
    Entry->setDSOLocal(true);
    Entry->removeFnAttr(Attribute::Memory); // it reads the cell
    // The entry has one parameter more than the wrapper, and no indirect call reaches it. So it
    // must not carry the wrapper's CFI type: an LTO link builds the CFI jump tables from these
    // types before it builds the entry anew.
    Entry->eraseMetadata(LLVMContext::MD_type);
    Entry->eraseMetadata(LLVMContext::MD_kcfi_type);
    for (const CallBase *Fresh : W.Fresh) {
      auto It = Rewritten.find(Fresh);
      const CallBase *Now = It == Rewritten.end() ? Fresh : It->second;
      auto *Copy = cast<CallBase>(static_cast<Value *>(Map[Now]));
      Value *Cell = Entry->getArg(Entry->arg_size() - 1);
      if (It != Rewritten.end()) {
        Copy->setArgOperand(Copy->arg_size() - 1, Cell);
        dropTests(*Copy); // a context has its own decision
        continue;
      }
      const AllocationWrapper *Inner = Wrappers.calledBy(*Copy);
      Steer(*Copy, Cell);
      // Steer may have created an entry that had no caller before.
      if (Inner && M.getFunction((EntryPrefix + Inner->F->getName()).str()))
        Queue(Inner);
    }
    if (W.Exported)
      emitRecord(M, *W.F, *Entry, Kept);
  }
}

} // namespace smalloc
