//===- SiteRewriter.cpp - sends allocation calls through thunks -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/SiteRewriter.h"
#include "passes/ir/CallReplacement.h"
#include "passes/rewrite/ContextEntries.h"
#include "passes/rewrite/LinkOptions.h"
#include "passes/rewrite/ModuleRecord.h"
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/ThunkParts.h"
#include "passes/rewrite/ThunkText.h"
#include "passes/rewrite/Thunks.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

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
CallBase *rewriteCall(CallBase &Call, AllocFamily Family, const AllocationWrapper *W, Value *Cell,
                      const SizeTests *Tests = nullptr) {
  Module &M = *Call.getModule();
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
    Rewritten[Before] = rewriteCall(*V.Call, V.Family, V.Wrapper, Cell,
                                    Test == Tests.end() ? nullptr : &Test->second);
  }
  for (const SiteDecision &V : Unit.Statics)
    emitSite(M, V, O, Kept);
  if (Unit.Wrappers)
    defineEntries(M, *Unit.Wrappers, Rewritten, Kept, [&](CallBase &Copy, Value *Cell) {
      auto Family = Families.find(Copy.getCalledOperand()->stripPointerCastsAndAliases());
      rewriteCall(Copy, Family == Families.end() ? AllocFamily::Wrapper : Family->second,
                  Unit.Wrappers->calledBy(Copy), Cell);
    });
  if (AnyCell || !Unit.Summary.empty() || M.getNamedGlobal("__smalloc_v1_module"))
    Keys = emitKeys(M, Unit.Summary,
                    Kept); // also an empty one: the module record names the section's bounds
  Kept.appendTo(M);
  if (AnyCell && isAddedAsText(M))
    moduleRecordText(M, O.Heap, {AnyCell, Keys});
  else if (AnyCell)
    emitModuleRecord(M, O.Heap, // a link makes the tables again: refer to none
                     isForLink(M) ? ArrayRef<GlobalVariable *>() : ArrayRef({AnyCell, Keys}));
}

} // namespace smalloc
