//===- SiteRewriter.cpp - sends allocation calls through thunks -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/SiteRewriter.h"
#include "passes/ir/CallReplacement.h"
#include "passes/rewrite/ContextEntries.h"
#include "passes/rewrite/LinkOptions.h"
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/ThunkParts.h"
#include "passes/rewrite/ThunkText.h"
#include "passes/rewrite/Thunks.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Returns \p Cell if \p Test holds, or if the user or a profile has decided since. Otherwise
/// returns an empty cell, for which the program's malloc serves the call.
Value *cellWhere(Value &Test, Value &Cell, CallBase &Before) {
  Module &M = *Before.getModule();
  IRBuilder<> B(&Before);
  LoadInst *Word = B.CreateAlignedLoad(B.getInt64Ty(), &Cell, Align(8));
  Word->setAtomic(AtomicOrdering::Monotonic);
  Value *Another = B.CreateICmpNE(B.CreateAnd(Word, WordOfDeciders), B.getInt64(WordOfCompiler));
  constexpr StringRef NoCell = "smalloc.no_cell";
  GlobalVariable *Never = M.getNamedGlobal(NoCell);
  if (!Never) {
    Type *CellType = cast<GlobalVariable>(Cell).getValueType();
    Never = new GlobalVariable(M, CellType, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                               Constant::getNullValue(CellType), NoCell);
    Never->setAlignment(Align(8));
  }
  return B.CreateSelect(B.CreateOr(&Test, Another), &Cell, Never);
}

/// Sends \p Call, an allocation or a context, to the thunk or entry that reads \p Cell. If \p Tests
/// is not null and does not hold, the call bypasses the site. Returns the new call.
CallBase *rewriteCall(Module &M, CallBase &Call, AllocFamily Family, const AllocationWrapper *W,
                      Value *Cell, const SizeTests *Tests = nullptr) {
  auto *Original = cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  const bool Context = Family == AllocFamily::Wrapper;
  Function *Thunk = !Context ? thunkOf(M, Family, Original, Call.getFunctionType())
                    : W      ? entryWithCell(M, *W)
                             : contextThunk(M, *Original);
  SmallVector<Value *, 4> Arguments(Call.args());
  if (Tests && !Context && Thunk->isDeclaration() && isAddedAsText(M)) {
    SizeTests Passed = *Tests;
    if (!mayTestInText(*Thunk, Passed)) // pass the result of the tests as one size
      Passed = {{testAt(*Tests, Call)}, {{{0, {.Least = 1}}}}};
    Thunk = testingThunkText(M, *Original, *Thunk, Passed);
    for (Value *Size : Passed.Sizes)
      Arguments.push_back(IRBuilder<>(&Call).CreateZExt(Size, Type::getInt64Ty(M.getContext())));
  } else if (Tests) {
    Cell = cellWhere(*testAt(*Tests, Call), *Cell, Call);
  }
  Arguments.push_back(Cell);
  // Keeps what is known about the result and about the call's effects. noalias matters most: the
  // vectoriser relies on it.
  LLVMContext &C = M.getContext();
  AttributeList Attributes = Call.getAttributes();
  if (Original->getReturnType() == Call.getType())
    Attributes =
        Attributes.addRetAttributes(C, AttrBuilder(C, Original->getAttributes().getRetAttrs()));
  if (!Call.getType()->isPointerTy() || Family >= AllocFamily::New || Call.isNoBuiltin())
    ; // posix_memalign writes through its argument, new may run a handler, a context may do
      // anything, mmap may fail, and nothing is known about a function that is no builtin
  else
    Attributes = Attributes.addRetAttribute(C, Attribute::NoAlias);
  Attributes = Attributes.removeFnAttribute(C, Attribute::Builtin)
                   .removeFnAttribute(C, Attribute::AllocSize);
  if (Attribute Effects = Original->getFnAttribute(Attribute::Memory); Effects.isValid())
    Attributes = Attributes.addFnAttribute(C, Effects);
  return callInstead(Call, Thunk, Arguments, Attributes);
}

/// Emits the record of the linked image, and the constructor and destructor that pass it to the
/// runtime. The constructor refers to \p Tables, one variable of each section, to keep the
/// sections. Not every linker knows SHF_GNU_RETAIN: gold's -r drops it. Then lld's --gc-sections
/// would drop the section and leave its bounds undefined.
void emitModuleRecord(Module &M, const Options &O, ArrayRef<GlobalVariable *> Tables) {
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
  // GNU ld puts an undefined hidden symbol into a shared library's dynamic table. It removes again
  // only symbols that are called, as if a PLT entry were requested. So the section bounds are
  // functions, and a block that never runs calls them. A library then exports the same symbols as
  // without smalloc.
  FunctionType *BoundaryType = FunctionType::get(Type::getVoidTy(C), false);
  auto Boundary = [&](StringRef Name) -> GlobalValue * {
    if (GlobalValue *Known = M.getNamedValue(Name))
      return Known;
    Function *F = Function::Create(BoundaryType, GlobalValue::ExternalLinkage, Name, M);
    F->setVisibility(GlobalValue::HiddenVisibility);
    F->setDSOLocal(true);
    F->setDoesNotThrow();
    return F;
  };
  GlobalValue *Start = Boundary("__start_smalloc_sites"), *Stop = Boundary("__stop_smalloc_sites"),
              *KeysStart = Boundary("__start_smalloc_keys"),
              *KeysStop = Boundary("__stop_smalloc_keys");
  // Takes the addresses from this image's GOT, never from a canonical PLT entry of the executable.
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
    F->addFnAttr(Attribute::NoInline); // run once: not worth the compiler's time
    F->addFnAttr(Attribute::OptimizeNone);
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
      BasicBlock *Never = BasicBlock::Create(C, "never", F, End),
                 *Tell = BasicBlock::Create(C, "tell", F, End);
      Value *Version = B.CreateLoad(I32, B.CreateStructGEP(RecordType, Record, 0));
      B.CreateCondBr(B.CreateICmpEQ(Version, B.getInt32(0)), Never, Tell);
      B.SetInsertPoint(Never);
      for (GlobalValue *Bound : {Start, Stop, KeysStart, KeysStop})
        B.CreateCall(BoundaryType, Bound);
      for (GlobalVariable *Table : Tables)
        B.CreateStore(Table, B.CreateStructGEP(RecordType, Record, 9), /*isVolatile=*/true);
      B.CreateUnreachable();
      B.SetInsertPoint(Tell);
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

SiteTests insertSizeTests(const UnitDecisions &Unit, FunctionAnalysisManager &FAM) {
  SiteTests Tests;
  for (const SiteDecision &V : Unit.Sites)
    if (!V.When.empty() && V.Decision == SMALLOC_DECISION_RUNTIME && V.steerable() &&
        V.DecidedBy == SMALLOC_BY_COMPILER && !(V.Flags & SMALLOC_SITE_PARTITIONED))
      Tests[V.Call] =
          sizesAt(V.When, *V.Call, FAM.getResult<ScalarEvolutionAnalysis>(*V.Call->getFunction()));
  return Tests;
}

void rewriteSites(Module &M, const UnitDecisions &Unit, const Options &O, const SiteTests &Tests,
                  SiteCells *Cells) {
  GlobalVariable *AnyCell = nullptr, *Keys = nullptr;
  KeptVariables Kept;
  DenseMap<const CallBase *, CallBase *> Rewritten;
  DenseMap<const Value *, AllocFamily> Families;
  for (const SiteDecision &V : Unit.Sites)
    if (V.Family != AllocFamily::Wrapper)
      Families[V.Call->getCalledOperand()->stripPointerCastsAndAliases()] = V.Family;
  for (const SiteDecision &V : Unit.Sites) {
    GlobalVariable *Cell = emitSite(M, V, O, Kept);
    if (!Cell)
      continue;
    AnyCell = Cell;
    if (Cells)
      (*Cells)[V.Call] = Cell;
    const CallBase *Before = V.Call;
    auto Test = Tests.find(Before);
    Rewritten[Before] = rewriteCall(M, *V.Call, V.Family, V.Wrapper, Cell,
                                    Test == Tests.end() ? nullptr : &Test->second);
  }
  for (const SiteDecision &V : Unit.Statics)
    emitSite(M, V, O, Kept);
  if (Unit.Wrappers)
    defineEntries(M, *Unit.Wrappers, Rewritten, Kept, [&](CallBase &Copy, Value *Cell) {
      auto Family = Families.find(Copy.getCalledOperand()->stripPointerCastsAndAliases());
      rewriteCall(M, Copy, Family == Families.end() ? AllocFamily::Wrapper : Family->second,
                  Unit.Wrappers->calledBy(Copy), Cell);
    });
  if (AnyCell || !Unit.Summary.empty() || M.getNamedGlobal("__smalloc_v1_module"))
    Keys = emitKeys(M, Unit.Summary,
                    Kept); // also an empty one: the module record names the section's bounds
  Kept.appendTo(M);
  if (AnyCell && isAddedAsText(M))
    moduleRecordText(M, O.Heap, {AnyCell, Keys});
  else if (AnyCell)
    emitModuleRecord(M, O, // a link makes the tables again: refer to none
                     isForLink(M) ? ArrayRef<GlobalVariable *>() : ArrayRef({AnyCell, Keys}));
}

} // namespace smalloc
