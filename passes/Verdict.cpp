//===- Verdict.cpp - superpages for this site? ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Verdict.h"
#include "Judgement.h"
#include "SiteTable.h"
#include "SiteText.h"
#include "StaticArrays.h"
#include "ThreadPartition.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

constexpr uint64_t SuperpageBytes = 2u << 20;
/// Propagation steps of the origins: well under a second for a unit. A link with LTO may take as much for each unit, up
/// to some seconds.
constexpr unsigned OriginsBudget = 400000, MostUnitsOfBudget = 16;
/// Walks of one site whose sizes are tested where it allocates.
constexpr size_t MaxConditions = 3;
/// Keys with an access in a unit's summary, about 200 bytes each.
constexpr size_t MaxKeyAccesses = 512;
/// Functions whose scalar evolution stays for the passes that follow, some 50 KiB each, and the instructions of all of them,
/// half a KiB each.
constexpr size_t MaxKept = 64, MaxKeptInstructions = 8192;

/// Where people find the loop of \p R.
std::string fileOf(const LoopReference &R) {
  const Function *F = R.Access->getFunction();
  if (DebugLoc Start = R.Outermost ? R.Outermost->getStartLoc() : DebugLoc())
    return Start->getFilename().str();
  if (const DISubprogram *In = F->getSubprogram())
    return In->getFilename().str();
  return F->getParent()->getSourceFileName();
}

/// \p F as a row of the site table.
ReferenceRow rowOf(const Finding &F) {
  ReferenceRow Row;
  Row.Function = F.Reference->Access->getFunction()->getName().str();
  if (const DILocation *At = F.Reference->Access->getDebugLoc()) {
    const DISubprogram *In = At->getScope()->getSubprogram();
    Row.Function = (In->getLinkageName().empty() ? In->getName() : In->getLinkageName()).str();
    Row.Line = At->getLine();
    Row.Column = At->getColumn();
  }
  Row.Pattern = F.Pattern;
  Row.Pages = F.Pages;
  Row.Accesses = F.Accesses;
  Row.Misses = F.Misses;
  Row.Exposed = F.Exposed;
  Row.Saving = F.Saving;
  Row.MinBytes = F.MinBytes;
  return Row;
}

class UnitAnalysis {
public:
  UnitAnalysis(Module &M, FunctionAnalysisManager &FAM, const Options &O)
      : M(M), FAM(FAM), O(O), Wrappers(std::make_unique<AllocationWrappers>(M, FAM)),
        Origins(
            M,
            [&](Function &F) -> const TargetLibraryInfo & {
              return FAM.getResult<TargetLibraryAnalysis>(F);
            },
            *Wrappers, OriginsBudget *std::clamp(O.Units, 1u, MostUnitsOfBudget)),
        Judge(Origins, O) {}

  UnitVerdicts run();

private:
  void collect(std::vector<SiteVerdict> &Sites);
  void collectReferences(Function &F);
  void doneWith(Function &F);
  SiteVerdict describe(CallBase &Call, AllocFamily Family);
  bool maybeMany(const CallBase &Call, const SiteVerdict &V);
  bool manyObjects(const CallBase &Call, const SiteVerdict &V);
  /// A walk whose sizes may decide, and whether it pays at any.
  using Sizeable = std::pair<const LoopReference *, bool>;
  const LoopReference *testSizes(SiteVerdict &V, ArrayRef<Sizeable> Found, std::string &Text);
  void decide(SiteVerdict &V);
  void summarise(UnitVerdicts &Result);

  Module &M;
  FunctionAnalysisManager &FAM;
  const Options &O;
  std::unique_ptr<AllocationWrappers> Wrappers;
  PointerOrigins Origins;
  DenseSet<const Function *> InLoops, FromOutside, Kept;
  size_t KeptInstructions = 0;
  std::vector<LoopReference> References;
  ReferenceJudge Judge;
};

/// Functions that other units may call as often as they like, directly or through others of this unit.
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

/// Forgets what scalar evolution knows of \p F, and its dominators, unless few functions have any: what a later pass asks for it
/// finds out again, as it would without us, but a large unit must not hold that of all its functions at once.
void UnitAnalysis::doneWith(Function &F) {
  if (!FAM.getCachedResult<ScalarEvolutionAnalysis>(F) &&
      !FAM.getCachedResult<PostDominatorTreeAnalysis>(F))
    return;
  if (Kept.contains(&F))
    return;
  if (Kept.size() < MaxKept) {
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
  Rest.abandon<DominatorTreeAnalysis>();
  FAM.invalidate(F, Rest);
}

/// The references of \p F's loops.
void UnitAnalysis::collectReferences(Function &F) {
  // An external function that nobody in the unit calls: other units may well call it in a loop.
  bool CalledFromElsewhere = !F.hasLocalLinkage() && F.use_empty() && F.getName() != "main";
  std::vector<LoopReference> Found =
      loopReferences(F, FAM, InLoops.contains(&F), O.Machine.BasePageBytes);
  for (LoopReference &R : Found)
    if (CalledFromElsewhere && !R.Levels.empty() && isUnpredictable(R.Levels.back().Kind))
      R.Assumed = true;
  std::move(Found.begin(), Found.end(), std::back_inserter(References));
}

/// The sites and the references of all functions. What asks scalar evolution of a function alone is asked in one go: beyond a few
/// functions it is forgotten behind them.
void UnitAnalysis::collect(std::vector<SiteVerdict> &Sites) {
  InLoops = functionsCalledInLoops(M, FAM);
  FromOutside = calledFromOutside(M);
  for (Function &F : M) {
    const bool Ours = !leavesAlone(F);
    // A body that another unit emits is as good to read as any.
    if (!Ours && !(F.hasAvailableExternallyLinkage() && !F.hasOptNone()))
      continue;
    const size_t First = Sites.size();
    if (Ours) {
      const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
      for (Instruction &I : instructions(F))
        if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->hasFnAttr(SiteIdAttr)) {
          if (std::optional<AllocFamily> Family = allocationFamily(*Call, TLI))
            Sites.push_back(describe(*Call, *Family));
          else if (Wrappers->isContext(*Call))
            Sites.push_back(describe(*Call, AllocFamily::Wrapper));
        }
    }
    const size_t FirstReference = References.size();
    collectReferences(F);
    for (SiteVerdict &V : MutableArrayRef(Sites).drop_front(First)) {
      Judge.setSize(V.Call, V.SizeBytes);
      if (fullyInitialised(V, ArrayRef(References).drop_front(FirstReference), FAM))
        V.Flags |= SMALLOC_SITE_FULLY_INITIALISED;
    }
    doneWith(F);
  }
  for (const LoopReference &R : References) { // which stay where they are from here on
    if (!R.Repeated)
      Judge.add(R);
  }
}

/// May other units make many objects here? Nothing to decide by on its own.
bool UnitAnalysis::maybeMany(const CallBase &Call, const SiteVerdict &V) {
  return (V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes < SuperpageBytes) &&
         FromOutside.contains(Call.getFunction());
}

/// Is the call executed many times, as far as one can see?
bool UnitAnalysis::manyObjects(const CallBase &Call, const SiteVerdict &V) {
  if (V.SizeBytes != SMALLOC_UNKNOWN && V.SizeBytes >= SuperpageBytes)
    return false;
  const Function *F = Call.getFunction();
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(*const_cast<Function *>(F));
  if (LI.getLoopFor(Call.getParent()) || InLoops.contains(F))
    return true;
  return V.SizeBytes != SMALLOC_UNKNOWN && !F->hasLocalLinkage() && F->getName() != "main" &&
         F->use_empty();
}

const Function *calledFunction(const CallBase &Call) {
  return cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

std::string familyName(const CallBase &Call, AllocFamily Family) {
  return Family >= AllocFamily::Wrapper ? calledFunction(Call)->getName().str()
                                        : familyCallee(Family).str();
}

SiteVerdict UnitAnalysis::describe(CallBase &Call, AllocFamily Family) {
  SiteVerdict V;
  V.Call = &Call;
  V.Family = Family;
  V.Callee = familyName(Call, Family);
  if (Family == AllocFamily::Wrapper) {
    V.Flags |= SMALLOC_SITE_CONTEXT;
    V.Wrapper = Wrappers->calledBy(Call);
    V.Guessed = !V.Wrapper && !isDeclaredFresh(*calledFunction(Call));
  }
  StringRef(Call.getFnAttr(SiteIdAttr).getValueAsString()).getAsInteger(16, V.Id);
  V.Function = Call.getFnAttr(SiteFunctionAttr).getValueAsString().str();
  describeLocation(V, M);
  describeSize(V, [&]() -> ScalarEvolution & {
    return FAM.getResult<ScalarEvolutionAnalysis>(*Call.getFunction());
  });
  return V;
}

/// Finds out at which sizes of their loops, known at run time only, the walks \p Found of an object of unknown size pay, and
/// has it tested where \p V allocates if that is to decide: V.When, in words \p Text. Returns a walk that pays at such sizes
/// only, null if there is none.
const LoopReference *UnitAnalysis::testSizes(SiteVerdict &V, ArrayRef<Sizeable> Found,
                                             std::string &Text) {
  const LoopReference *Opened = nullptr;
  SizeConditions When;
  for (const auto &[Reference, Pays] : Found) {
    const LoopReference &R = *Reference;
    std::optional<OpenSizes> Open;
    std::optional<std::vector<SizeBounds>> Bounds;
    if (R.Access->getFunction() == V.Call->getFunction()) {
      ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(*V.Call->getFunction());
      Open = openSizes(R, SE);
      if (Open && testableAt(*Open, *V.Call, SE))
        Bounds = Judge.sizesThatPay(R, {V.Call, V.SizeBytes, /*Many=*/false}, Open->Places,
                                    Open->Values.size());
    }
    const SizeCondition Condition = Bounds ? conditionOf(*Open, *Bounds) : SizeCondition();
    if (Pays && Condition.empty()) // whatever its sizes, or nobody knows them there
      return nullptr;
    if (Condition.empty() || is_contained(When, Condition))
      continue;
    if (When.size() == MaxConditions) {
      if (Pays)
        return nullptr;
      continue;
    }
    Text += (Text.empty() ? "" : ", or ") + sizesText(R, *Open, *Bounds);
    When.push_back(Condition);
    if (!Pays && !Opened)
      Opened = &R;
  }
  V.When = std::move(When);
  return Opened;
}

void UnitAnalysis::decide(SiteVerdict &V) {
  const bool Many = manyObjects(*V.Call, V);
  const bool Escapes = Origins.escapes(V.Call);
  // A context's cell is the only one that a later join can steer.
  const bool Context = V.Flags & SMALLOC_SITE_CONTEXT;
  const bool MaybeMany = maybeMany(*V.Call, V);
  const bool CanBeBig = V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes || Many ||
                        (Context && MaybeMany);
  if (Many)
    V.Flags |= SMALLOC_SITE_SMALL;
  if (Escapes)
    V.Flags |= SMALLOC_SITE_ESCAPES;
  if (V.SizeBytes != SMALLOC_UNKNOWN && (V.Flags & SMALLOC_SITE_FULLY_INITIALISED)) {
    // Whole superpages of the object; the tail stays on base pages.
    uint64_t Whole = V.SizeBytes / SuperpageBytes;
    V.FaultsSaved = Whole * (SuperpageBytes / O.Machine.BasePageBytes - 1);
  }
  Finding Best;
  uint64_t Earliest = SMALLOC_UNKNOWN; // any nest that pays is reason enough
  std::vector<Sizeable> Found;
  SmallVector<const LoopReference *, 8> Reached(Judge.reaching(V.Call));
  for (const CallBase *Inside : Wrappers->inside(*V.Call)) // what the function does to it at once
    append_range(Reached, Judge.reaching(Inside));
  for (const LoopReference *R : Reached) {
    const Finding &F = Judge.judge(*R, {V.Call, V.SizeBytes, Many},
                                   O.SitesDir.empty() ? Detail::Verdict : Detail::Whole);
    if (!O.SitesDir.empty())
      V.References.push_back(rowOf(F));
    bool Better = F.pays() != Best.pays() ? F.pays() : F.Saving > Best.Saving;
    if (Best.Reference && F.pays() == Best.pays() &&
        F.Saving == Best.Saving) // the earlier, then the surer reason
      Better = F.MinBytes != Best.MinBytes ? F.MinBytes < Best.MinBytes
                                           : Best.Reference->Assumed && !R->Assumed;
    if (F.Pattern == SMALLOC_PATTERN_POINTER_CHASING)
      V.Flags |= SMALLOC_SITE_CHASED;
    Earliest = std::min(Earliest, F.MinBytes);
    if (F.pays() || F.Pattern == SMALLOC_PATTERN_STREAMING)
      Found.push_back({R, F.pays()});
    if (!Best.Reference || Better ||
        (F.Saving == Best.Saving && !Best.pays() && F.Pattern > Best.Pattern))
      Best = F;
  }
  if (Best.Reference)
    Best = Judge.judge(*Best.Reference, {V.Call, V.SizeBytes, Many}, Detail::Whole);
  std::string SizesText;
  if (!Escapes && !Many && V.SizeBytes == SMALLOC_UNKNOWN && O.Model == SMALLOC_MODEL_SPREAD &&
      O.Heap != SMALLOC_HEAP_OFF && O.Heap != SMALLOC_HEAP_SUPERPAGE)
    if (const LoopReference *Opened = testSizes(V, Found, SizesText)) {
      Earliest = std::min(Earliest, (O.Machine.ReachPages + 1) * O.Machine.BasePageBytes);
      if (!Best.pays()) {
        Best.Reference = Opened;
        Best.Pattern = SMALLOC_PATTERN_STRIDED;
        Best.MinBytes = Earliest;
        Best.Why = motionText(*Opened) + " in " + nestText(*Opened) +
                   ": runs too short for the prefetcher";
      }
    }
  V.Pattern = Best.Reference ? Best.Pattern : SMALLOC_PATTERN_NONE;
  if (Best.Reference && Best.Pattern != SMALLOC_PATTERN_NONE) {
    if (O.Model == SMALLOC_MODEL_SPREAD) { // the paper's formula says nothing about either
      V.MissesPerAccess = Best.Misses;
      V.SavingCycles = Best.Saving;
    }
    if (Best.Pages >= 0)
      V.SpreadPages = static_cast<uint64_t>(std::ceil(Best.Pages));
    V.SpreadText = spreadText(*Best.Reference, O.Machine.BasePageBytes);
  }
  V.Why = Best.Why;
  if (V.Why.empty())
    V.Why = Best.Reference ? "its address does not move with any loop"
                           : "no loop of this unit walks it";
  const unsigned Sure = Best.Reference ? (Best.Reference->Assumed       ? 40
                                          : tripsKnown(*Best.Reference) ? 90
                                                                        : 70)
                                       : 60;
  V.Confidence = Origins.gaveUp() ? 10 : Sure;

  if (O.Heap == SMALLOC_HEAP_OFF) {
    V.Decision = SMALLOC_DECISION_BASE;
    V.Why = "heap=off: no superpages; " + V.Why;
    return;
  }
  if (O.Heap == SMALLOC_HEAP_SUPERPAGE) {
    V.Decision = SMALLOC_DECISION_SUPERPAGE;
    V.MinBytes = 0;
    V.Flags |= SMALLOC_SITE_REWRITTEN;
    V.Why = "heap=superpage: every site; " + V.Why;
    return;
  }
  if (Best.pays() && (CanBeBig || O.Model == SMALLOC_MODEL_PAPER)) {
    V.Decision = Earliest == 0 ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
    V.MinBytes = Earliest;
    V.Flags |= SMALLOC_SITE_REWRITTEN;
    if (!V.When.empty())
      V.Why += "; only " + SizesText + ", which is tested where it is allocated";
    return;
  }
  if (Escapes && CanBeBig && O.Model == SMALLOC_MODEL_SPREAD) {
    V.Decision = SMALLOC_DECISION_RUNTIME;
    V.MinBytes = (O.Machine.ReachPages + 1) * O.Machine.BasePageBytes;
    V.Flags |= SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_REWRITTEN;
    if (MaybeMany)
      V.Flags |= SMALLOC_SITE_MANY;
    if (Context && V.SizeBytes != SMALLOC_UNKNOWN && V.SizeBytes < SuperpageBytes)
      V.Flags |= SMALLOC_SITE_SMALL; // no object of it is watched on its own
    if (V.Pattern == SMALLOC_PATTERN_NONE)
      V.Pattern = SMALLOC_PATTERN_UNKNOWN;
    V.Confidence = std::min(V.Confidence, 30u);
    V.Why += "; its pointer leaves the unit, so other units may: watched at run time";
    return;
  }
  V.Decision = SMALLOC_DECISION_BASE;
  if (!CanBeBig && Best.pays())
    V.Why += "; but it is smaller than a superpage";
  if (O.Rewrite == RewriteScope::All)
    V.Flags |= SMALLOC_SITE_REWRITTEN;
}

/// The unit's part of the program-wide join: flows of pointers, and what its loops do with memory of other units.
void UnitAnalysis::summarise(UnitVerdicts &Result) {
  KeyNames Keys(M, Origins, *Wrappers, FAM);
  DenseMap<const CallBase *, uint64_t> Nodes;
  for (const SiteVerdict &V : Result.Sites)
    if (V.steerable())
      Nodes[V.Call] = V.Node;
  KeyedSummary &Out = Result.Summary;
  Keys.collectFlows(Out, [&](const CallBase *Site) { return Nodes.lookup(Site); });
  std::map<std::pair<uint64_t, bool>, std::pair<KeyedSummary::Access, const LoopReference *>> Best;
  for (const LoopReference &R : References) {
    if (R.Repeated || Best.size() >= MaxKeyAccesses)
      continue;
    if (isa<AllocaInst, GlobalVariable>(getUnderlyingObject(R.Pointer)))
      continue; // no site's memory
    auto Roots = Keys.rootsOf(R.Pointer);
    if (Roots.empty())
      continue;
    const Finding &F = Judge.judge(R, {}, Detail::Verdict);
    if (F.Pattern == SMALLOC_PATTERN_NONE)
      continue;
    KeyedSummary::Access A;
    A.MinBytes = F.MinBytes;
    A.Saving = F.Saving;
    A.Pattern = F.Pattern;
    A.Confidence = R.Assumed ? 40 : tripsKnown(R) ? 90 : 70;
    for (KeyRoot Root : Roots) {
      auto &[Known, By] = Best[{Root.Key, Root.Contents}];
      if (!By || A.MinBytes < Known.MinBytes ||
          (A.MinBytes == Known.MinBytes && A.Saving > Known.Saving)) {
        Known = A;
        Known.Root = Root;
        By = &R;
      }
    }
  }
  for (auto &[Key, Kept] : Best) {
    auto &[A, By] = Kept;
    const Finding &F = Judge.judge(*By, {}, Detail::Whole);
    A.Misses = F.Misses;
    A.Why = F.Why + " (" + fileOf(*By) + ")";
    Out.Accesses.push_back(std::move(A));
  }
  if (!O.CoverageDir.empty())
    Result.Coverage = accessCoverage(M, FAM, Origins, Keys); // asks for further names
  Out.Names = Keys.takeNames();
}

UnitVerdicts UnitAnalysis::run() {
  UnitVerdicts Result;
  Result.OriginsGaveUp = Origins.gaveUp();
  collect(Result.Sites);
  for (size_t I = 0; I < Result.Sites.size(); ++I) {
    decide(Result.Sites[I]);
    Function *F = Result.Sites[I].Call->getFunction();
    if (I + 1 == Result.Sites.size() || Result.Sites[I + 1].Call->getFunction() != F)
      doneWith(*F);
  }
  obeyDirectives(Result.Sites, O);
  // A context that stays as it is would decide as the allocation inside does.
  DenseSet<const CallBase *> Steered;
  for (const SiteVerdict &V : Result.Sites)
    if (V.steerable())
      Steered.insert(V.Call);
  for (SiteVerdict &V : Result.Sites)
    if (any_of(Wrappers->inside(*V.Call), [&](const CallBase *In) { return Steered.contains(In); }))
      V.Flags |= SMALLOC_SITE_REWRITTEN;
  if (O.NumaHints && O.Heap != SMALLOC_HEAP_OFF) {
    // Which object is big is known at run time at the latest: every such site must reach us then.
    const DenseSet<const CallBase *> Divided = partitionedSites(M, FAM, Origins);
    for (SiteVerdict &V : Result.Sites)
      if (Divided.contains(V.Call) && !(V.Flags & SMALLOC_SITE_SMALL) &&
          (V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes))
        V.Flags |= SMALLOC_SITE_PARTITIONED | SMALLOC_SITE_REWRITTEN;
  }
  nameSites(Result.Sites);
  Result.Statics =
      decideStatics(M, References, Origins, O, [&](const LoopReference &R, const SiteVerdict &V) {
        return Judge.judge(R, {nullptr, V.SizeBytes, /*Many=*/false}, Detail::Whole);
      });
  if (O.Model == SMALLOC_MODEL_SPREAD &&
      (O.Heap == SMALLOC_HEAP_SPLIT || O.Heap == SMALLOC_HEAP_MIGRATE))
    summarise(Result);
  if (O.Model == SMALLOC_MODEL_SPREAD &&
      (O.Heap == SMALLOC_HEAP_SPLIT || O.Heap == SMALLOC_HEAP_MIGRATE)) {
    // Promotion points also serve objects that other units allocated: there the nest alone decides. Known objects need
    // one if they may wait for promotion, that is, start on base pages.
    DenseMap<const CallBase *, unsigned> Flags;
    for (const SiteVerdict &V : Result.Sites)
      Flags[V.Call] = V.Flags;
    auto MayWait = [&](const LoopReference &R) {
      const PointerOrigins::Answer &From = Origins.originsOf(R.Pointer);
      return From.Unknown || any_of(From.Sites, [&](const CallBase *Site) {
               return (Flags[Site] & SMALLOC_SITE_REWRITTEN) &&
                      !(Flags[Site] & SMALLOC_SITE_FULLY_INITIALISED);
             });
    };
    for (const LoopReference &R : References)
      if (R.Outermost && !R.Repeated && MayWait(R) && Judge.judge(R, {}, Detail::Verdict).pays())
        Result.Nests.push_back(
            {R.Outermost, R.Access->getFunction(), R, Origins.originsOf(R.Pointer).Sites.empty()});
  }
  Result.Wrappers = std::move(Wrappers);
  return Result;
}

} // namespace

UnitVerdicts decideUnit(Module &M, FunctionAnalysisManager &FAM, const Options &O) {
  return UnitAnalysis(M, FAM, O).run();
}

} // namespace smalloc
