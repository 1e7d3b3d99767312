//===- UnitSites.cpp - allocation sites and references of a unit ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/UnitSites.h"
#include "passes/decisions/FullyInitialised.h"
#include "passes/decisions/SiteText.h"
#include "passes/ir/InstructionCount.h"
#include "passes/loops/CallersLoops.h"
#include "passes/sites/ClearedSites.h"
#include "passes/sites/SiteVariable.h"
#include "passes/sites/WrapperCalls.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Most functions whose scalar evolution stays cached for later passes, some 50 KiB each, and most
/// instructions of all these, half a KiB each. A large unit keeps none.
constexpr size_t MaxKept = 64, MaxKeptInstructions = 8192;

/// Returns the functions that other units may call any number of times, directly or through
/// functions of this unit.
DenseSet<const Function *> calledFromOutside(const Module &M) {
  DenseSet<const Function *> Result;
  SmallVector<const Function *, 16> Work;
  for (const Function &F : M)
    if (!F.isDeclaration() && F.getName() != "main" && F.getName() != "_QQmain" &&
        (!F.hasLocalLinkage() || F.hasAddressTaken()) && Result.insert(&F).second)
      Work.push_back(&F);
  while (!Work.empty())
    for (const Instruction &I : instructions(*Work.pop_back_val()))
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (auto *Callee =
                dyn_cast<Function>(Call->getCalledOperand()->stripPointerCastsAndAliases());
            Callee && !Callee->isDeclaration() && Result.insert(Callee).second)
          Work.push_back(Callee);
  return Result;
}

/// True if each way to \p F through the unit begins in a function without callers in the unit:
/// other units probably call it often.
bool calledOnlyFromOutside(const Function &F, unsigned Depth = 0) {
  constexpr unsigned MaxDepth = 4, MaxCallers = 8;
  if (F.getName() == "main" || Depth > MaxDepth || F.hasNUsesOrMore(MaxCallers + 1))
    return false;
  if (F.use_empty())
    return !F.hasLocalLinkage();
  return all_of(F.uses(), [&](const Use &U) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    return Call && Call->isCallee(&U) && calledOnlyFromOutside(*Call->getFunction(), Depth + 1);
  });
}

} // namespace

bool isLargeUnit(const Module &M) { return instructionsOf(M) >= LargeUnit; }

UnitSites::UnitSites(Module &M, FunctionAnalysisManager &FAM, const Options &O,
                     const AllocationWrappers &Wrappers)
    : M(M), FAM(FAM), O(O), Wrappers(Wrappers), Large(isLargeUnit(M)) {}

void UnitSites::doneWith(Function &F) {
  if (!FAM.getCachedResult<ScalarEvolutionAnalysis>(F) &&
      !FAM.getCachedResult<PostDominatorTreeAnalysis>(F))
    return;
  if (Kept.contains(&F))
    return;
  if (!Large && Kept.size() < MaxKept) {
    size_t Size = 0;
    for (const BasicBlock &B : F)
      Size += B.size();
    if (KeptInstructions + Size <= MaxKeptInstructions) {
      KeptInstructions += Size;
      Kept.insert(&F);
      return;
    }
  }
  PreservedAnalyses Rest = PreservedAnalyses::all();
  Rest.abandon<ScalarEvolutionAnalysis>();
  Rest.abandon<PostDominatorTreeAnalysis>();
  FAM.invalidate(F, Rest);
}

/// Adds the references of \p F's loops to References.
void UnitSites::collectReferences(Function &F) {
  // An external function without callers in the unit: other units may well call it in a loop.
  bool CalledFromElsewhere = !F.hasLocalLinkage() && F.use_empty() && F.getName() != "main";
  std::vector<LoopReference> Found =
      loopReferences(F, FAM, InLoops.contains(&F), O.Machine.BasePageBytes);
  for (LoopReference &R : Found)
    if (CalledFromElsewhere && !R.Levels.empty() && isUnpredictable(R.Levels.back().Kind))
      R.Assumed = true;
  std::move(Found.begin(), Found.end(), std::back_inserter(References));
}

/// Runs all queries about one function together. Beyond a few functions, its scalar evolution is
/// discarded afterwards.
std::vector<SiteDecision> UnitSites::collect(ReferenceBenefit &Judge) {
  std::vector<SiteDecision> Sites;
  InLoops = functionsCalledInLoops(M, FAM);
  FromOutside = calledFromOutside(M);
  for (Function &F : M) {
    const bool Ours = !leavesAlone(F);
    // Loops are also read in a body that another unit emits.
    if (!Ours && !(F.hasAvailableExternallyLinkage() && !F.hasOptNone()))
      continue;
    const size_t First = Sites.size();
    SmallVector<Fill, 4> Fills;
    if (Ours) {
      for (Instruction &I : instructions(F)) {
        auto *Call = dyn_cast<CallBase>(&I);
        if (!Call)
          continue;
        if (Fill Filled = fillOf(*Call); Filled.Call)
          Fills.push_back(Filled);
        if (Call->hasFnAttr(SiteIdAttr)) {
          if (std::optional<AllocFamily> Family = allocationFamily(*Call))
            Sites.push_back(describe(*Call, *Family));
          else if (Wrappers.isContext(*Call))
            Sites.push_back(describe(*Call, AllocFamily::Wrapper));
        }
      }
    }
    const size_t FirstReference = References.size();
    collectReferences(F);
    for (SiteDecision &V : MutableArrayRef(Sites).drop_front(First)) {
      Judge.setSize(V.Call, V.SizeBytes);
      if (fullyInitialised(V, ArrayRef(References).drop_front(FirstReference), Fills, FAM))
        V.Flags |= SMALLOC_SITE_FULLY_INITIALISED;
    }
    append_range(AllFills, Fills);
    doneWith(F);
  }
  // A wrapper that writes all of an object before it returns the object has written it at each of
  // its calls.
  DenseSet<const CallBase *> Written;
  for (const SiteDecision &V : Sites)
    if (V.Flags & SMALLOC_SITE_FULLY_INITIALISED)
      Written.insert(V.Call);
  for (SiteDecision &V : Sites)
    if (V.Wrapper &&
        all_of(V.Wrapper->Fresh, [&](const CallBase *Inside) { return Written.contains(Inside); }))
      V.Flags |= SMALLOC_SITE_FULLY_INITIALISED;
  for (const LoopReference &R : References) { // their addresses are final now
    if (!R.Repeated)
      Judge.add(R);
  }
  return Sites;
}

bool UnitSites::maybeMany(const CallBase &Call, const SiteDecision &V) const {
  return V.SizeBytes != 0 && (V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes < SuperpageBytes) &&
         FromOutside.contains(Call.getFunction());
}

bool UnitSites::manyObjects(const CallBase &Call, const SiteDecision &V) const {
  if (V.SizeBytes == 0 || (V.SizeBytes != SMALLOC_UNKNOWN && V.SizeBytes >= SuperpageBytes))
    return false;
  const Function *F = Call.getFunction();
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(*const_cast<Function *>(F));
  if (LI.getLoopFor(Call.getParent()) || InLoops.contains(F))
    return true;
  return V.SizeBytes != SMALLOC_UNKNOWN && calledOnlyFromOutside(*F);
}

SiteDecision UnitSites::describe(CallBase &Call, AllocFamily Family) {
  SiteDecision V;
  V.Call = &Call;
  V.Family = Family;
  V.Callee = Call.hasFnAttr(ClearedAttr) ? "malloc" // the name in the source
                                         : calledFunction(Call)->getName().str();
  if (Family == AllocFamily::Wrapper) {
    V.Flags |= SMALLOC_SITE_CONTEXT;
    V.Wrapper = Wrappers.calledBy(Call);
    V.Guessed = !V.Wrapper && !isDeclaredFresh(*calledFunction(Call));
  }
  StringRef(Call.getFnAttr(SiteIdAttr).getValueAsString()).getAsInteger(16, V.Id);
  V.Function = Call.getFnAttr(SiteFunctionAttr).getValueAsString().str();
  V.Array = Call.getFnAttr(SiteVariableAttr).getValueAsString().str();
  describeLocation(V, M);
  describeSize(V, [&]() -> ScalarEvolution & {
    return FAM.getResult<ScalarEvolutionAnalysis>(*Call.getFunction());
  });
  return V;
}

} // namespace smalloc
