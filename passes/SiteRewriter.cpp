//===- SiteRewriter.cpp - calls become steerable ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SiteRewriter.h"
#include "ContextEntries.h"
#include "SiteTable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Where a family's arguments are, and which entry of the runtime serves it.
struct FamilyShape {
  StringRef Entry;
  int SizeArgument;         ///< of the call
  int AlignmentArgument;    ///< of the call; -1: none
  bool MayBeDirect = false; ///< its small requests are nothing but a number of bytes
};

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
  case AllocFamily::Wrapper:
    break; // ContextEntries
  }
  llvm_unreachable("every family has a shape");
}

bool isNewFamily(AllocFamily F) { return F >= AllocFamily::New && F < AllocFamily::Wrapper; }

void makeHiddenComdat(Module &M, GlobalObject *G) {
  G->setLinkage(GlobalValue::LinkOnceODRLinkage);
  G->setVisibility(GlobalValue::HiddenVisibility);
  G->setComdat(M.getOrInsertComdat(G->getName()));
  G->setDSOLocal(true);
}

/// A weak entry of the runtime. Not dso_local: its address is loaded from the GOT, also without -fPIC, so that
/// the linker cannot settle it as absent.
Function *weakEntry(Module &M, StringRef Name, FunctionType *Type) {
  if (Function *Known = M.getFunction(Name))
    return Known;
  Function *F = Function::Create(Type, GlobalValue::ExternalWeakLinkage, Name, M);
  F->setDoesNotThrow();
  F->addFnAttr(
      Attribute::
          NonLazyBind); // the call, too, goes through the GOT: no PLT entry for an absent function
  return F;
}

void copyTargetAttributes(Function *To, const Function *From) {
  for (StringRef Name :
       {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "probe-stack"})
    if (From->hasFnAttribute(Name))
      To->addFnAttr(From->getFnAttribute(Name));
}

/// A hidden function of this unit (the linker keeps one per image) that a rewritten call runs through.
Function *hiddenThunk(Module &M, const Twine &Name, FunctionType *Type, AllocFamily Family,
                      const Function *User) {
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::LinkOnceODRLinkage, 0, Name, &M);
  makeHiddenComdat(M, F);
  copyTargetAttributes(F, User);
  F->setUWTableKind(UWTableKind::Default);
  if (!isNewFamily(Family))
    F->setDoesNotThrow();
  return F;
}

void tailCall(IRBuilder<> &B, FunctionCallee Callee, ArrayRef<Value *> Arguments) {
  CallInst *Call = B.CreateCall(Callee, Arguments);
  Call->setTailCall();
  B.CreateRet(Call);
}

/// Builds the function that asks an entry of the runtime and, when that does nothing, calls the program's own. It is
/// apart from the thunk because it alone needs a stack frame.
Function *askOf(Module &M, AllocFamily Family, StringRef Entry, Function *Original,
                FunctionType *Type, const Function *User) {
  const FamilyShape Shape = shapeOf(Family);
  LLVMContext &C = M.getContext();
  PointerType *Ptr = PointerType::getUnqual(C);
  Function *F = hiddenThunk(M, Entry + "_or_" + familyCallee(Family), Type, Family, User);
  F->addFnAttr(Attribute::NoInline);
  SmallVector<Value *, 4> Arguments;
  for (unsigned I = 0; I + 1 < F->arg_size(); ++I)
    Arguments.push_back(F->getArg(I));
  SmallVector<Value *, 4> Passed;
  if (isNewFamily(Family)) {
    Passed.push_back(Arguments[0]);
    if (Shape.AlignmentArgument >= 0)
      Passed.push_back(Arguments[Shape.AlignmentArgument]);
  } else {
    Passed = Arguments;
  }
  Passed.push_back(F->getArg(F->arg_size() - 1));
  SmallVector<llvm::Type *, 4> EntryParameters;
  for (Value *V : Passed)
    EntryParameters.push_back(V->getType());
  Function *Runtime =
      weakEntry(M, Entry, FunctionType::get(Type->getReturnType(), EntryParameters, false));
  auto Block = [&](const char *BlockName) { return BasicBlock::Create(C, BlockName, F); };
  BasicBlock *Ask = Block("ask"), *Done = Block("done"), *Plain = Block("plain");
  IRBuilder<> B(Ask);
  CallInst *Result = B.CreateCall(Runtime, Passed);
  Value *Served = Family == AllocFamily::PosixMemalign
                      ? B.CreateICmpNE(Result, ConstantInt::getSigned(Result->getType(), -1))
                      : B.CreateICmpNE(Result, ConstantPointerNull::get(Ptr));
  B.CreateCondBr(Served, Done, Plain, MDBuilder(C).createLikelyBranchWeights());
  B.SetInsertPoint(Done);
  B.CreateRet(Result);
  B.SetInsertPoint(Plain);
  tailCall(B, Original, Arguments);
  return F;
}

/// Builds (once per unit) the thunk of a family: original arguments, then the cell. It decides who is asked; a site of
/// small objects that the runtime has marked costs one load and one branch until then.
Function *thunkOf(Module &M, AllocFamily Family, Function *Original, const Function *User) {
  const FamilyShape Shape = shapeOf(Family);
  std::string Name = ("__smalloc_v1_thunk_" + familyCallee(Family)).str();
  if (Function *Known = M.getFunction(Name))
    return Known;
  LLVMContext &C = M.getContext();
  Type *I64 = Type::getInt64Ty(C);
  FunctionType *From = Original->getFunctionType();
  SmallVector<Type *, 4> Parameters(From->params());
  Parameters.push_back(PointerType::getUnqual(C));
  FunctionType *ThunkType = FunctionType::get(From->getReturnType(), Parameters, false);
  Function *F = hiddenThunk(M, Name, ThunkType, Family, User);
  SmallVector<Value *, 4> All, Arguments;
  for (Argument &A : F->args())
    All.push_back(&A);
  Arguments.assign(All.begin(), All.end() - 1);

  auto Block = [&](const char *BlockName) { return BasicBlock::Create(C, BlockName, F); };
  BasicBlock *Entry = Block("entry"), *Sized = Block("sized"), *Present = Block("present"),
             *Ask = Block("ask"), *Plain = Block("plain");
  IRBuilder<> B(Entry);
  LoadInst *Word = B.CreateAlignedLoad(I64, All.back(), Align(8), "word");
  Word->setAtomic(AtomicOrdering::Monotonic);
  if (Shape.MayBeDirect) {
    BasicBlock *Direct = Block("direct"), *Ordinary = Block("ordinary");
    Value *Flag = B.CreateAnd(Word, uint64_t(SMALLOC_CELL_DIRECT) << 8);
    B.CreateCondBr(B.CreateICmpNE(Flag, B.getInt64(0)), Direct, Ordinary);
    B.SetInsertPoint(Direct);
    tailCall(B, askOf(M, Family, "__smalloc_v1_small", Original, ThunkType, User), All);
    B.SetInsertPoint(Ordinary);
  }
  B.CreateCondBr(B.CreateICmpEQ(Word, B.getInt64(0)), Plain, Sized);

  B.SetInsertPoint(Sized);
  Value *Bytes = Arguments[Shape.SizeArgument];
  if (Family == AllocFamily::Calloc) {
    Value *Pair =
        B.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow, Arguments[0], Arguments[1]);
    Bytes = B.CreateSelect(B.CreateExtractValue(Pair, 1), B.getInt64(-1),
                           B.CreateExtractValue(Pair, 0));
  }
  // One instruction a statement: the order of arguments is the host compiler's choice.
  Value *WholePages = B.CreateLShr(Bytes, 12);
  Value *Rest = B.CreateAnd(Bytes, 4095);
  Value *Started = B.CreateZExt(B.CreateICmpNE(Rest, B.getInt64(0)), I64);
  Value *Pages = B.CreateAdd(WholePages, Started);
  Value *LeastPages = B.CreateLShr(Word, 32);
  Value *BigEnough = B.CreateICmpUGE(Pages, LeastPages);
  Value *SmallFlag = B.CreateAnd(Word, uint64_t(SMALLOC_SITE_SMALL) << 8);
  Value *Small = B.CreateICmpNE(SmallFlag, B.getInt64(0));
  B.CreateCondBr(B.CreateOr(BigEnough, Small), Present, Plain);

  B.SetInsertPoint(Present);
  Function *Asking = askOf(M, Family, Shape.Entry, Original, ThunkType, User);
  Value *Runtime = M.getFunction(Shape.Entry);
  B.CreateCondBr(B.CreateICmpNE(Runtime, ConstantPointerNull::get(PointerType::getUnqual(C))), Ask,
                 Plain);
  B.SetInsertPoint(Ask);
  tailCall(B, Asking, All);
  B.SetInsertPoint(Plain);
  tailCall(B, Original, Arguments);
  return F;
}

/// Sends \p Call, an allocation or a context, to where \p Cell is asked; returns what it became.
CallBase *rewriteCall(Module &M, CallBase &Call, AllocFamily Family, const AllocationWrapper *W,
                      Value *Cell) {
  auto *Original = cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  const bool Context = Family == AllocFamily::Wrapper;
  Function *Thunk = !Context ? thunkOf(M, Family, Original, Call.getFunction())
                    : W      ? entryWithCell(M, *W)
                             : contextThunk(M, *Original, *Call.getFunction());
  SmallVector<Value *, 4> Arguments(Call.args());
  Arguments.push_back(Cell);
  SmallVector<OperandBundleDef, 1> Bundles;
  Call.getOperandBundlesAsDefs(Bundles);
  CallBase *New;
  if (auto *Invoke = dyn_cast<InvokeInst>(&Call)) {
    New = InvokeInst::Create(Thunk->getFunctionType(), Thunk, Invoke->getNormalDest(),
                             Invoke->getUnwindDest(), Arguments, Bundles, "", Call.getIterator());
  } else {
    auto *Plain = CallInst::Create(Thunk->getFunctionType(), Thunk, Arguments, Bundles, "",
                                   Call.getIterator());
    Plain->setTailCallKind(cast<CallInst>(Call).getTailCallKind());
    New = Plain;
  }
  // What was known of the result (noalias above all: the vectoriser lives on it) and of the call's effects stays.
  LLVMContext &C = M.getContext();
  AttributeList Attributes = Call.getAttributes();
  Attributes =
      Attributes.addRetAttributes(C, AttrBuilder(C, Original->getAttributes().getRetAttrs()));
  if (!Call.getType()->isPointerTy() || isNewFamily(Family) || Context)
    ; // posix_memalign writes through its argument; new may run a handler; a context does what it does
  else
    Attributes = Attributes.addRetAttribute(C, Attribute::NoAlias);
  Attributes = Attributes.removeFnAttribute(C, Attribute::Builtin)
                   .removeFnAttribute(C, Attribute::AllocSize);
  if (Attribute Effects = Original->getFnAttribute(Attribute::Memory); Effects.isValid())
    Attributes = Attributes.addFnAttribute(C, Effects);
  New->setAttributes(Attributes);
  New->setCallingConv(Call.getCallingConv());
  New->copyMetadata(Call);
  New->setDebugLoc(Call.getDebugLoc());
  New->takeName(&Call);
  Call.replaceAllUsesWith(New);
  Call.eraseFromParent();
  return New;
}

/// The record of the linked image and the constructor and destructor that hand it to the runtime.
void emitModuleRecord(Module &M, const Options &O) {
  if (M.getNamedGlobal("__smalloc_v1_module"))
    return;
  LLVMContext &C = M.getContext();
  Type *I32 = Type::getInt32Ty(C);
  PointerType *Ptr = PointerType::getUnqual(C);
  StructType *RecordType = StructType::get(
      C, {I32, I32, Ptr, Ptr, Ptr, Ptr, Ptr, I32, I32, Ptr, Ptr, Ptr}); // smalloc_module
  Constant *Null = ConstantPointerNull::get(Ptr);
  auto *Record = new GlobalVariable(
      M, RecordType, /*isConstant=*/false, GlobalValue::LinkOnceODRLinkage,
      ConstantStruct::get(RecordType, {ConstantInt::get(I32, SMALLOC_ABI_VERSION),
                                       ConstantInt::get(I32, sizeof(smalloc_module)), Null, Null,
                                       Null, Null, Null, ConstantInt::get(I32, O.Heap),
                                       ConstantInt::get(I32, 0), Null, Null, Null}),
      "__smalloc_v1_module");
  makeHiddenComdat(M, Record);
  auto Boundary = [&](StringRef Name) {
    auto *G = new GlobalVariable(M, Type::getInt8Ty(C), true, GlobalValue::ExternalLinkage, nullptr,
                                 Name);
    G->setVisibility(GlobalValue::HiddenVisibility);
    G->setDSOLocal(true);
    return G;
  };
  GlobalVariable *Start = Boundary("__start_smalloc_sites"),
                 *Stop = Boundary("__stop_smalloc_sites"),
                 *KeysStart = Boundary("__start_smalloc_keys"),
                 *KeysStop = Boundary("__stop_smalloc_keys");
  // As this image resolves them: through its GOT, never a canonical PLT entry of the executable.
  FunctionType *Free = FunctionType::get(Type::getVoidTy(C), {Ptr}, false);
  auto Resolved = [&](StringRef Name, FunctionType *T,
                      GlobalValue::LinkageTypes Linkage) -> Function * {
    Function *F = M.getFunction(Name);
    if (!F)
      F = Function::Create(T, Linkage, Name, M);
    if (F->isDeclaration())
      F->setDSOLocal(false);
    return F;
  };
  FunctionType *Realloc = FunctionType::get(Ptr, {Ptr, Type::getInt64Ty(C)}, false);
  Function *FreeFunction = Resolved("free", Free, GlobalValue::ExternalLinkage),
           *ReallocFunction = Resolved("realloc", Realloc, GlobalValue::ExternalLinkage),
           *DeleteFunction = Resolved("_ZdlPv", Free, GlobalValue::ExternalWeakLinkage);

  auto Announce = [&](StringRef Name, StringRef EntryName, bool Fill) {
    Function *F = Function::createWithDefaultAttr(FunctionType::get(Type::getVoidTy(C), false),
                                                  GlobalValue::LinkOnceODRLinkage, 0, Name, &M);
    makeHiddenComdat(M, F);
    F->setDoesNotThrow();
    F->setUWTableKind(UWTableKind::Default);
    FunctionType *EntryType = FunctionType::get(Type::getVoidTy(C), {Ptr}, false);
    Function *Entry = weakEntry(M, EntryName, EntryType);
    BasicBlock *Begin = BasicBlock::Create(C, "entry", F), *Call = BasicBlock::Create(C, "call", F),
               *End = BasicBlock::Create(C, "end", F);
    IRBuilder<> B(Begin);
    B.CreateCondBr(B.CreateICmpNE(Entry, Null), Call, End);
    B.SetInsertPoint(Call);
    if (Fill) {
      Constant *Values[] = {Start, Stop, FreeFunction, ReallocFunction, DeleteFunction};
      for (unsigned I = 0; I < 5; ++I)
        B.CreateStore(Values[I], B.CreateStructGEP(RecordType, Record, 2 + I));
      B.CreateStore(KeysStart, B.CreateStructGEP(RecordType, Record, 10));
      B.CreateStore(KeysStop, B.CreateStructGEP(RecordType, Record, 11));
    }
    B.CreateCall(Entry, {Record});
    B.CreateBr(End);
    B.SetInsertPoint(End);
    B.CreateRetVoid();
    return F;
  };
  Function *Register = Announce("__smalloc_v1_register", "__smalloc_v1_register_module", true);
  Function *Unregister =
      Announce("__smalloc_v1_unregister", "__smalloc_v1_unregister_module", false);
  appendToGlobalCtors(M, Register, /*Priority=*/1, Register);
  appendToGlobalDtors(M, Unregister, /*Priority=*/1, Unregister);
}

} // namespace

bool rewriteSites(Module &M, const UnitVerdicts &Unit, const Options &O) {
  bool Changed = !Unit.Sites.empty();
  bool AnyCell = false;
  DenseMap<const CallBase *, CallBase *> Rewritten;
  DenseMap<const Value *, AllocFamily> Families;
  for (const SiteVerdict &V : Unit.Sites)
    if (V.Family != AllocFamily::Wrapper)
      Families[V.Call->getCalledOperand()->stripPointerCastsAndAliases()] = V.Family;
  for (const SiteVerdict &V : Unit.Sites) {
    GlobalVariable *Cell = emitSite(M, V, O);
    if (!Cell)
      continue;
    AnyCell = true;
    const CallBase *Before = V.Call;
    Rewritten[Before] = rewriteCall(M, *V.Call, V.Family, V.Wrapper, Cell);
  }
  if (Unit.Wrappers)
    defineEntries(M, *Unit.Wrappers, Rewritten, [&](CallBase &Copy, Value *Cell) {
      auto Family = Families.find(Copy.getCalledOperand()->stripPointerCastsAndAliases());
      rewriteCall(M, Copy, Family == Families.end() ? AllocFamily::Wrapper : Family->second,
                  Unit.Wrappers->calledBy(Copy), Cell);
    });
  if (AnyCell || !Unit.Summary.empty()) {
    emitKeys(M, Unit.Summary); // an empty one, too: the module record names the section's bounds
    Changed = true;
  }
  if (AnyCell)
    emitModuleRecord(M, O);
  return Changed;
}

} // namespace smalloc
