//===- LinkPhase.cpp - sites decided again where units meet -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/rewrite/LinkPhase.h"
#include "passes/decisions/StaticArrays.h"
#include "passes/ir/CallReplacement.h"
#include "passes/rewrite/ContextEntries.h"
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/ThunkParts.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <map>

using namespace llvm;

namespace smalloc {
namespace {

/// Has \p G its one definition in this module?
bool isDefinedHere(const GlobalVariable &G) {
  return G.hasInitializer() && !G.hasAvailableExternallyLinkage();
}

/// The record that the cell's initializer measures the distance to.
GlobalVariable *recordOf(const GlobalVariable &Cell) {
  auto *Fields = dyn_cast<ConstantStruct>(Cell.getInitializer());
  auto *Distance = Fields ? dyn_cast<ConstantExpr>(Fields->getOperand(1)) : nullptr;
  if (!Distance || Distance->getOpcode() != Instruction::Sub)
    return nullptr;
  auto *Address = dyn_cast<PtrToIntOperator>(Distance->getOperand(0));
  auto *Record = Address ? dyn_cast<GlobalVariable>(Address->getPointerOperand()) : nullptr;
  return Record && isDefinedHere(*Record) ? Record : nullptr;
}

/// Does some instruction refer to it?
bool usedByCode(const Constant &C) {
  return any_of(C.users(), [](const User *U) {
    auto *Inner = dyn_cast<Constant>(U);
    return !Inner || (!isa<GlobalValue>(Inner) && usedByCode(*Inner));
  });
}

/// Two globals that refer to each other go together.
void erase(ArrayRef<GlobalVariable *> Globals) {
  for (GlobalVariable *G : Globals)
    G->setInitializer(nullptr);
  for (GlobalVariable *G : Globals) {
    G->removeDeadConstantUsers();
    // Left of it: another unit's copy of an ODR function's cell, which this module only looks at.
    G->replaceAllUsesWith(ConstantPointerNull::get(G->getType()));
    G->eraseFromParent();
  }
}

} // namespace

FormerSites::FormerSites(Module &M, FunctionAnalysisManager &FAM) : M(M) {
  SmallVector<CallBase *, 32> Calls;
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasAvailableExternallyLinkage() &&
        !F.hasMetadata(EntryOfMetadata)) // second entries are made anew, as copies
      for (Instruction &I : instructions(F))
        if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->hasFnAttr(SiteIdAttr))
          Calls.push_back(Call);
  for (CallBase *Call : Calls)
    takeBackCall(*Call);
  takeBackEntries(FAM);
  collectRecords();
  for (Function &F : M)
    if (!F.isDeclaration())
      FAM.invalidate(F, PreservedAnalyses::none());
}

/// What the thunk or the second entry that \p Call calls stands for, to be called as one of \p Type; null if it is neither.
Function *FormerSites::originalOf(const CallBase &Call, FunctionType *Type) {
  auto *Thunk = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (!Thunk || Thunk->getFunctionType() != Call.getFunctionType())
    return nullptr;
  StringRef Name = Thunk->getName();
  Function *Original = nullptr;
  if (const MDNode *Of = Thunk->getMetadata(EntryOfMetadata)) {
    auto *F = dyn_cast_or_null<ValueAsMetadata>(Of->getOperand(0).get());
    Original = F ? dyn_cast<Function>(F->getValue()) : nullptr;
  } else if (Name.consume_front(ThunkPrefix)) {
    return dyn_cast<Function>(
        M.getOrInsertFunction(Name, Type).getCallee()); // declared as it may be
  } else if (Name.consume_front(ContextThunkPrefix) && Name.size() > ContextTagBytes) {
    Original = dyn_cast<Function>(
        M.getOrInsertFunction(Name.drop_front(ContextTagBytes), Type).getCallee());
  }
  return Original && Original->getFunctionType() == Type ? Original : nullptr;
}

void FormerSites::takeBackCall(CallBase &Call) {
  if (Call.arg_empty() || !isa<CallInst, InvokeInst>(Call))
    return;
  auto *Cell = dyn_cast<GlobalVariable>(
      Call.getArgOperand(Call.arg_size() - 1)->stripPointerCastsAndAliases());
  // One that other modules may refer to (of an ODR function, or promoted by ThinLTO) stays as it was compiled.
  if (!Cell || Cell->getSection() != SMALLOC_CELLS_SECTION || !isDefinedHere(*Cell) ||
      !Cell->hasLocalLinkage())
    return;
  GlobalVariable *Record = recordOf(*Cell);
  const FunctionType *With = Call.getFunctionType();
  FunctionType *Type = FunctionType::get(With->getReturnType(), With->params().drop_back(), false);
  Function *Original = Record ? originalOf(Call, Type) : nullptr;
  if (!Original)
    return;
  SmallVector<Value *, 4> Arguments(drop_end(Call.args()));
  CallBase *New = callInstead(Call, {Type, Original}, Arguments,
                              Call.getAttributes().removeParamAttributes(
                                  M.getContext(), static_cast<unsigned>(Arguments.size())));
  if (New->hasFnAttr(ContextIdAttr)) // whether it is a site is found out anew
    New->removeFnAttr(SiteIdAttr);
  Sites[New] = {Cell, Record, Cell->getName().str(), Record->getName().str()};
}

/// Second entries of functions that return fresh memory, and the records that other units find them by: made anew.
void FormerSites::takeBackEntries(FunctionAnalysisManager &FAM) {
  SmallVector<GlobalVariable *, 8> Records;
  for (GlobalVariable &G : M.globals())
    if (G.getName().starts_with(WrapperRecordPrefix) && isDefinedHere(G))
      Records.push_back(&G);
  SmallPtrSet<Constant *, 8> Gone(Records.begin(), Records.end());
  removeFromUsedLists(
      M, [&](Constant *C) { return Gone.contains(cast<Constant>(C->stripPointerCasts())); });
  for (GlobalVariable *Record : Records) {
    // Thunks that look for it find none until a new one takes its place.
    auto *Absent = new GlobalVariable(M, Record->getValueType(), /*isConstant=*/true,
                                      GlobalValue::ExternalWeakLinkage, nullptr);
    Absent->setVisibility(GlobalValue::HiddenVisibility);
    Absent->setDSOLocal(false);
    Absent->takeName(Record);
    WrapperRecords.push_back(Absent->getName().str());
    // Of a record that nobody reads the linker may leave zeros.
    auto *Fields = dyn_cast<ConstantStruct>(Record->getInitializer());
    auto *Own = Fields ? dyn_cast<GlobalAlias>(Fields->getOperand(0)) : nullptr;
    Record->replaceAllUsesWith(Absent);
    erase(Record);
    if (Own && Own->use_empty())
      Own->eraseFromParent();
  }
  for (Function &F : make_early_inc_range(M)) {
    if (F.isDeclaration() || !F.getName().starts_with(EntryPrefix))
      continue;
    F.removeDeadConstantUsers();
    if (F.use_empty()) {
      FAM.clear(F, F.getName());
      F.eraseFromParent();
      continue;
    }
    // Called from an imported body, or from another module: it stays what it was, beside the new one.
    if (F.hasLocalLinkage())
      F.setName(F.getName() + ".former");
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        Call->removeFnAttr(SiteIdAttr);
  }
}

/// Names are free for the new records; what is kept after all gets its own back.
void FormerSites::collectRecords() {
  SmallPtrSet<const GlobalVariable *, 32> Known;
  SmallVector<GlobalVariable *, 8> Blocks;
  for (auto &[Call, Site] : Sites) {
    Known.insert(Site.Record);
    Site.Record->setName("");
    Site.Cell->setName("");
  }
  for (GlobalVariable &G : M.globals()) {
    if (!isDefinedHere(G))
      continue;
    if (G.getSection() == SMALLOC_KEYS_SECTION)
      Blocks.push_back(&G);
    else if (G.getSection() == SMALLOC_SITES_SECTION && !Known.contains(&G) && !hasCell(G))
      WithoutCell.push_back(&G);
  }
  Units = static_cast<unsigned>(Blocks.size());
  SmallPtrSet<Constant *, 32> Gone(Blocks.begin(), Blocks.end());
  Gone.insert(WithoutCell.begin(), WithoutCell.end());
  for (auto &[Call, Site] : Sites) {
    Gone.insert(Site.Record);
    Gone.insert(Site.Cell);
  }
  removeFromUsedLists(
      M, [&](Constant *C) { return Gone.contains(cast<Constant>(C->stripPointerCasts())); });
  for (GlobalVariable *G : Blocks)
    erase(G);
  for (GlobalVariable *G : WithoutCell)
    G->setName("");
}

void FormerSites::settle(UnitDecisions &Unit) const {
  for (SiteDecision &V : Unit.Sites) {
    auto It = Sites.find(V.Call);
    if (It == Sites.end())
      continue;
    const Former &Site = It->second;
    const SiteDecision Before = readSite(*Site.Record);
    V.Name = Site.RecordName;
    if (!V.Line) { // compiled without locations
      V.File = Before.File;
      V.Line = Before.Line;
      V.Column = Before.Column;
    }
    // What a unit could decide by itself was decided on loops as they were written; the link sees them unrolled and
    // vectorised, each copy with a part of the pages.
    if (Before.DecidedBy == SMALLOC_BY_PROFILE || !(Before.Flags & SMALLOC_SITE_UNDECIDED))
      takeDecision(V, Before);
  }
  std::map<uint64_t, SiteDecision> Statics;
  for (const GlobalVariable *Record : WithoutCell) {
    SiteDecision Before = readSite(*Record);
    if (!(Before.Flags & SMALLOC_SITE_STATIC))
      continue;
    auto [It, New] = Statics.try_emplace(Before.Id, Before);
    if (!New && Before.Decision == SMALLOC_DECISION_SUPERPAGE) // COMMON, described by several units
      It->second = std::move(Before);
  }
  for (SiteDecision &V : Unit.Statics) {
    auto It = Statics.find(V.Id);
    if (It == Statics.end())
      continue;
    const SiteDecision &Before = It->second;
    V.Function = Before.Function; // the linker renames one of two of a name
    V.File = Before.File;
    V.Line = Before.Line;
    V.Column = Before.Column;
    if (Before.Decision == SMALLOC_DECISION_SUPERPAGE || wasOwn(*V.Variable))
      takeDecision(V, Before);
  }
}

/// The linker believes that a record is where it was: one that was not made anew is there, and fits no function.
void FormerSites::keepRecordNames() {
  for (const std::string &Name : WrapperRecords)
    if (GlobalVariable *Record = M.getNamedGlobal(Name); Record && Record->isDeclaration()) {
      Record->setInitializer(Constant::getNullValue(Record->getValueType()));
      Record->setLinkage(GlobalValue::WeakAnyLinkage);
    }
}

void FormerSites::finish(const SiteCells &Cells) {
  keepRecordNames();
  bool AnyRecord = !Cells.empty();
  KeptVariables Kept;
  SmallVector<const Former *, 8> Left;
  SmallPtrSet<const GlobalVariable *, 16> Done; // calls that were one may have become two
  for (auto &[Call, Site] : Sites)
    if (GlobalVariable *Cell = Cells.lookup(Call); Cell && Done.insert(Site.Cell).second) {
      Site.Cell->replaceAllUsesWith(Cell);
      erase({Site.Cell, Site.Record});
    }
  for (auto &[Call, Site] : Sites)
    if (Done.insert(Site.Cell).second)
      Left.push_back(&Site);
  // The module record names the section's bounds: a module that had records keeps one.
  for (const GlobalVariable &G : M.globals())
    AnyRecord |= G.getSection() == SMALLOC_SITES_SECTION && isDefinedHere(G) && G.hasName();
  for (const Former *Site : Left) {
    if (AnyRecord && !usedByCode(*Site->Cell)) {
      erase({Site->Cell, Site->Record});
      continue;
    }
    Site->Cell->setName(Site->CellName);
    Site->Record->setName(Site->RecordName);
    Kept.ForImage.push_back(Site->Record);
    Kept.ForUnit.push_back(Site->Cell);
    AnyRecord = true;
  }
  for (GlobalVariable *Record : WithoutCell) {
    if (AnyRecord) {
      erase(Record);
      continue;
    }
    Record->setName("__smalloc_v1_site");
    Kept.ForImage.push_back(Record);
    AnyRecord = true;
  }
  Kept.appendTo(M);
}

} // namespace smalloc
