//===- LinkPhase.cpp - decides sites again in a link with LTO -------------===//
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

/// True if \p G has its one definition in this module.
bool isDefinedHere(const GlobalVariable &G) {
  return G.hasInitializer() && !G.hasAvailableExternallyLinkage();
}

/// Returns the record to which the cell's initializer holds the distance.
GlobalVariable *recordOf(const GlobalVariable &Cell) {
  auto *Fields = dyn_cast<ConstantStruct>(Cell.getInitializer());
  auto *Distance = Fields ? dyn_cast<ConstantExpr>(Fields->getOperand(1)) : nullptr;
  if (!Distance || Distance->getOpcode() != Instruction::Sub)
    return nullptr;
  auto *Address = dyn_cast<PtrToIntOperator>(Distance->getOperand(0));
  auto *Record = Address ? dyn_cast<GlobalVariable>(Address->getPointerOperand()) : nullptr;
  return Record && isDefinedHere(*Record) ? Record : nullptr;
}

/// True if an instruction refers to \p C.
bool usedByCode(const Constant &C) {
  return any_of(C.users(), [](const User *U) {
    auto *Inner = dyn_cast<Constant>(U);
    return !Inner || (!isa<GlobalValue>(Inner) && usedByCode(*Inner));
  });
}

/// Erases \p Globals, which may refer to each other.
void erase(ArrayRef<GlobalVariable *> Globals) {
  for (GlobalVariable *G : Globals)
    G->setInitializer(nullptr);
  for (GlobalVariable *G : Globals) {
    G->removeDeadConstantUsers();
    // A use may be left in another unit's copy of an ODR function's cell, which is only analysed
    // here.
    G->replaceAllUsesWith(ConstantPointerNull::get(G->getType()));
    G->eraseFromParent();
  }
}

} // namespace

FormerSites::FormerSites(Module &M, FunctionAnalysisManager &FAM) : M(M) {
  SmallVector<CallBase *, 32> Calls;
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasAvailableExternallyLinkage() &&
        !F.hasMetadata(EntryOfMetadata)) // second entries are copied anew
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

/// Returns the function that the callee of \p Call replaces, to be called with \p Type. Returns
/// null if the callee is neither a thunk nor a second entry. Returns null as well if all calls of
/// the function went to its second entry, and the linker has therefore dropped it: only its
/// declaration is left, for the metadata.
Function *FormerSites::originalOf(const CallBase &Call, FunctionType *Type) {
  auto *Thunk = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
  if (!Thunk || Thunk->getFunctionType() != Call.getFunctionType())
    return nullptr;
  StringRef Name = Thunk->getName();
  Function *Original = nullptr;
  if (const MDNode *Of = Thunk->getMetadata(EntryOfMetadata)) {
    auto *F = dyn_cast_or_null<ValueAsMetadata>(Of->getOperand(0).get());
    Original = F ? dyn_cast<Function>(F->getValue()) : nullptr;
    if (Original && Original->isDeclaration())
      return nullptr;
  } else if (Name.consume_front(ThunkPrefix)) {
    return dyn_cast<Function>(
        M.getOrInsertFunction(Name, Type).getCallee()); // any earlier declaration is accepted
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
  if (!Cell || Cell->getSection() != SMALLOC_CELLS_SECTION || !isDefinedHere(*Cell))
    return;
  GlobalVariable *Record = recordOf(*Cell);
  if (!Record)
    return;
  const FunctionType *With = Call.getFunctionType();
  FunctionType *Type = FunctionType::get(With->getReturnType(), With->params().drop_back(), false);
  // A cell that other modules may refer to (of an ODR function, or promoted by ThinLTO) stays as
  // compiled.
  Function *Original = Cell->hasLocalLinkage() ? originalOf(Call, Type) : nullptr;
  if (!Original) {
    if (const uint64_t Node = readSite(*Record).Node)
      AsCompiled[&Call] = Node;
    return;
  }
  SmallVector<Value *, 4> Arguments(drop_end(Call.args()));
  CallBase *New = callInstead(Call, {Type, Original}, Arguments,
                              Call.getAttributes().removeParamAttributes(
                                  M.getContext(), static_cast<unsigned>(Arguments.size())));
  if (New->hasFnAttr(ContextIdAttr)) // the analysis finds out again whether it is a site
    New->removeFnAttr(SiteIdAttr);
  Sites[New] = {Cell, Record, Cell->getName().str(), Record->getName().str()};
}

/// Removes the second entries of functions that return fresh memory, and the records by which other
/// units find them. Both are made anew.
void FormerSites::takeBackEntries(FunctionAnalysisManager &FAM) {
  SmallVector<GlobalVariable *, 8> Records;
  for (GlobalVariable &G : M.globals())
    if (G.getName().starts_with(WrapperRecordPrefix) && isDefinedHere(G))
      Records.push_back(&G);
  SmallPtrSet<Constant *, 8> Gone(Records.begin(), Records.end());
  removeFromUsedLists(
      M, [&](Constant *C) { return Gone.contains(cast<Constant>(C->stripPointerCasts())); });
  for (GlobalVariable *Record : Records) {
    // Thunks that look for the record find none until a new one takes its place.
    auto *Absent = new GlobalVariable(M, Record->getValueType(), /*isConstant=*/true,
                                      GlobalValue::ExternalWeakLinkage, nullptr);
    Absent->setVisibility(GlobalValue::HiddenVisibility);
    Absent->setDSOLocal(false);
    Absent->takeName(Record);
    WrapperRecords.push_back(Absent->getName().str());
    // The linker may leave zeros in a record without readers.
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
    // Called from an imported body or from another module: the old entry stays beside the new one.
    if (F.hasLocalLinkage())
      F.setName(F.getName() + ".former");
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        Call->removeFnAttr(SiteIdAttr);
  }
}

/// Collects the records and frees their names for the new ones. A record that is kept gets its name
/// back.
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
    // The compile phase decided on loops as they were written. The link sees them unrolled and
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
    V.Function = Before.Function; // the linker renames one of two variables of the same name
    V.File = Before.File;
    V.Line = Before.Line;
    V.Column = Before.Column;
    if (Before.Decision == SMALLOC_DECISION_SUPERPAGE || wasOwn(*V.Variable))
      takeDecision(V, Before);
  }
}

/// Defines an empty record under each old name without a new record, since the linker expects the
/// symbol in this module. An empty record fits no function.
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
  SmallPtrSet<const GlobalVariable *, 16> Done; // the optimiser may have made two calls out of one
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
