//===- UnitAnalysis.cpp - decides all sites of a unit ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/UnitAnalysis.h"
#include "passes/decisions/DirectiveUse.h"
#include "passes/decisions/SiteText.h"
#include "passes/decisions/StaticArrays.h"
#include "passes/decisions/UnitSites.h"
#include "passes/decisions/UnitSummary.h"
#include "passes/ir/InstructionCount.h"
#include "passes/loops/ThreadPartition.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

/// Sets the record name of each site, and its node in the graph of keys.
void nameSites(std::vector<SiteDecision> &Sites) {
  StringMap<unsigned>
      Ordinals; // copies of one call in one function: unrolled, or inlined through the same chain
  for (SiteDecision &V : Sites) {
    StringRef In = V.Call->getFunction()->getName();
    unsigned Ordinal = Ordinals[std::to_string(V.Id) + In.str() + V.Context]++;
    V.Name = "__smalloc_v1_site_" + utohexstr(V.Id, true, 16) + "_" +
             utohexstr(xxh3_64bits(In.str() + '\n' + V.Context), true, 16) + "_" + utostr(Ordinal);
    V.Node = xxh3_64bits(V.Name);
  }
}

/// Most propagation steps of the origins of one unit, well under a second. A link with LTO may use
/// this budget for each unit, up to some seconds.
constexpr unsigned OriginsBudget = 400000, MostUnitsOfBudget = 16;
/// Most walks of one site whose sizes are tested at the allocation.
constexpr size_t MaxConditions = 3;

/// Returns \p F as a row of the site table.
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

/// Removes copies of a call that request 0 bytes, such as the first iteration of an unrolled loop.
/// Other copies of the same site remain.
void forgetEmptyCopies(std::vector<SiteDecision> &Sites) {
  DenseSet<uint64_t> Told;
  for (const SiteDecision &V : Sites)
    if (V.SizeBytes != 0)
      Told.insert(V.Id);
  erase_if(Sites, [&](const SiteDecision &V) {
    return V.SizeBytes == 0 && !V.steerable() && Told.contains(V.Id);
  });
}

/// Returns the reason why a fully written object belongs on superpages whatever its loops do.
std::string writtenText(const MachineProfile &Machine) {
  return "every byte is written: a superpage takes 1 page fault instead of " +
         std::to_string(SuperpageBytes / Machine.BasePageBytes) + " at the same memory";
}

/// True if the loops around \p R, all of known length, write less than a superpage.
bool tooFew(const LoopReference &R) {
  uint64_t Bytes = std::max(R.Bytes, uint64_t(64)); // at least a line per store, for gaps
  for (const LoopLevel &L : R.Levels) {
    if (!L.Trip)
      return false;
    Bytes = SaturatingMultiply(Bytes, *L.Trip);
  }
  return Bytes < SuperpageBytes;
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
        Judge(Origins, O), Unit(M, FAM, O, *Wrappers) {}

  UnitDecisions run();

private:
  /// A walk whose sizes may be tested, and whether it pays at any size.
  using Sizeable = std::pair<const LoopReference *, bool>;
  const LoopReference *testSizes(SiteDecision &V, ArrayRef<Sizeable> Found, std::string &Text);
  void decide(SiteDecision &V);
  void promoteNests(UnitDecisions &Result);
  bool mayWait(const Value *Pointer, const DenseMap<const CallBase *, unsigned> &Flags);
  void noteFills(UnitDecisions &Result);

  Module &M;
  FunctionAnalysisManager &FAM;
  const Options &O;
  std::unique_ptr<AllocationWrappers> Wrappers;
  PointerOrigins Origins;
  ReferenceBenefit Judge;
  UnitSites Unit;
};

/// Finds the loop sizes, known at run time only, at which the walks \p Found of an object of
/// unknown size pay. If these sizes are to decide, sets V.When, which \p V's call then tests, and
/// \p Text, its description. Returns a walk that pays only at such sizes; null if there is none.
const LoopReference *UnitAnalysis::testSizes(SiteDecision &V, ArrayRef<Sizeable> Found,
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
    if (Pays && Condition.empty()) // at any size, or the sizes are unknown there
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

void UnitAnalysis::decide(SiteDecision &V) {
  const bool Many = Unit.manyObjects(*V.Call, V);
  const bool Escapes = Origins.escapes(V.Call);
  // Only a context's cell can be steered by a later join.
  const bool Context = V.Flags & SMALLOC_SITE_CONTEXT;
  const bool MaybeMany = Unit.maybeMany(*V.Call, V);
  const bool CanBeBig = V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes || Many ||
                        (Context && MaybeMany);
  // A superpage costs a fully written object no memory and saves its page faults. The paper's model
  // counts walks only.
  const bool Written = (V.Flags & SMALLOC_SITE_FULLY_INITIALISED) &&
                       (V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes) &&
                       O.FirstTouch && O.Model == SMALLOC_MODEL_SPREAD;
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
  uint64_t Earliest = SMALLOC_UNKNOWN; // any nest that pays suffices
  std::vector<Sizeable> Found;
  SmallVector<const LoopReference *, 8> Reached(Judge.reaching(V.Call));
  for (const CallBase *Inside : Wrappers->inside(*V.Call)) // references inside the called function
    append_range(Reached, Judge.reaching(Inside));
  for (const LoopReference *R : Reached) {
    const Finding &F = Judge.judge(*R, {V.Call, V.SizeBytes, Many},
                                   O.SitesDir.empty() ? Detail::Verdict : Detail::Whole);
    if (!O.SitesDir.empty())
      V.References.push_back(rowOf(F));
    bool Better = F.pays() != Best.pays() ? F.pays() : F.Saving > Best.Saving;
    if (Best.Reference && F.pays() == Best.pays() &&
        F.Saving == Best.Saving) // then the lower MinBytes, then the surer reason
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
  if (!Written && !Escapes && !Many && V.SizeBytes == SMALLOC_UNKNOWN &&
      O.Model == SMALLOC_MODEL_SPREAD && O.Heap != SMALLOC_HEAP_OFF &&
      O.Heap != SMALLOC_HEAP_SUPERPAGE)
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
    if (O.Model == SMALLOC_MODEL_SPREAD) { // the paper's formula has neither
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
    if (Written) {
      V.MinBytes = std::min(V.MinBytes, SuperpageBytes);
      V.Why += "; " + writtenText(O.Machine);
    }
    return;
  }
  if (Written) {
    const bool Sized = V.SizeBytes != SMALLOC_UNKNOWN;
    V.Decision = Sized ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
    V.MinBytes = Sized ? 0 : SuperpageBytes;
    V.Flags |= SMALLOC_SITE_REWRITTEN;
    V.Flags &=
        ~SMALLOC_SITE_SMALL; // an object below a superpage gains nothing, however many there are
    V.Why = writtenText(O.Machine) + "; " + V.Why;
    return;
  }
  if (Escapes && CanBeBig && O.Model == SMALLOC_MODEL_SPREAD) {
    V.Decision = SMALLOC_DECISION_RUNTIME;
    V.MinBytes = (O.Machine.ReachPages + 1) * O.Machine.BasePageBytes;
    V.Flags |= SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_REWRITTEN;
    if (MaybeMany)
      V.Flags |= SMALLOC_SITE_MANY;
    if (Context && V.SizeBytes != SMALLOC_UNKNOWN && V.SizeBytes < SuperpageBytes)
      V.Flags |= SMALLOC_SITE_SMALL; // its objects are not watched individually
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

/// Selects the nests that get promotion points. Points also serve objects that other units
/// allocated: for these the nest alone counts. A known object needs a point only if it may wait for
/// promotion, that is, if it starts on base pages. A fully written object does so only if
/// superpages at first touch are too expensive or over the budget. Nests over such objects get a
/// limited number of spare points, which cost little compile time.
void UnitAnalysis::promoteNests(UnitDecisions &Result) {
  constexpr unsigned InstructionsPerSparePoint = 20000;
  unsigned Spare = 2 + instructionsOf(M) / InstructionsPerSparePoint;
  DenseMap<const CallBase *, unsigned> Flags;
  for (const SiteDecision &V : Result.Sites)
    Flags[V.Call] = V.Flags;
  auto Reaches = [&](const LoopReference &R, bool Written) {
    const PointerOrigins::Answer &From = Origins.originsOf(R.Pointer);
    return (!Written && From.Unknown) || any_of(From.Sites, [&](const CallBase *Site) {
             return (Flags[Site] & SMALLOC_SITE_REWRITTEN) &&
                    Written == ((Flags[Site] & SMALLOC_SITE_FULLY_INITIALISED) != 0);
           });
  };
  for (const LoopReference &R : Unit.references()) {
    if (!R.Outermost || R.Repeated)
      continue;
    const bool Waits = Reaches(R, false), IsSpare = !Waits && Spare > 0 && Reaches(R, true);
    if (!(Waits || IsSpare) || !Judge.judge(R, {}, Detail::Verdict).pays())
      continue;
    Spare -= IsSpare;
    Result.Nests.push_back(
        {R.Outermost, R.Access->getFunction(), R, Origins.originsOf(R.Pointer).Sites.empty()});
  }
}

/// True if \p Pointer may point into a heap object that does not start on superpages.
bool UnitAnalysis::mayWait(const Value *Pointer,
                           const DenseMap<const CallBase *, unsigned> &Flags) {
  const PointerOrigins::Answer &From = Origins.originsOf(Pointer);
  return From.Unknown || any_of(From.Sites, [&](const CallBase *Site) {
           return !(Flags.lookup(Site) & SMALLOC_SITE_FULLY_INITIALISED);
         });
}

void UnitAnalysis::noteFills(UnitDecisions &Result) {
  DenseMap<const CallBase *, unsigned> Flags;
  for (const SiteDecision &V : Result.Sites)
    Flags[V.Call] = V.Flags;
  for (const LoopReference &R : Unit.references())
    if (R.Writes && R.Outermost && !tooFew(R) && mayWait(R.Pointer, Flags))
      Result.Fills.Stores.push_back(R);
  for (const Fill &F : Unit.fills())
    if (mayWait(F.To, Flags))
      Result.Fills.Calls.push_back(F);
}

UnitDecisions UnitAnalysis::run() {
  UnitDecisions Result;
  Result.OriginsGaveUp = Origins.gaveUp();
  Result.Sites = Unit.collect(Judge);
  for (size_t I = 0; I < Result.Sites.size(); ++I) {
    decide(Result.Sites[I]);
    Function *F = Result.Sites[I].Call->getFunction();
    if (I + 1 == Result.Sites.size() || Result.Sites[I + 1].Call->getFunction() != F)
      Unit.doneWith(*F);
  }
  obeyDirectives(Result.Sites, O);
  // A context without a cell of its own would follow the decision of the allocation inside, so it
  // gets a cell.
  DenseSet<const CallBase *> Steered;
  for (const SiteDecision &V : Result.Sites)
    if (V.steerable())
      Steered.insert(V.Call);
  for (SiteDecision &V : Result.Sites)
    if (any_of(Wrappers->inside(*V.Call), [&](const CallBase *In) { return Steered.contains(In); }))
      V.Flags |= SMALLOC_SITE_REWRITTEN;
  if (O.NumaHints && O.Heap != SMALLOC_HEAP_OFF) {
    // An object's size is known at run time at the latest: each of these sites must call the
    // runtime then.
    const DenseSet<const CallBase *> Divided = partitionedSites(M, FAM, Origins);
    for (SiteDecision &V : Result.Sites)
      if (Divided.contains(V.Call) && !(V.Flags & SMALLOC_SITE_SMALL) &&
          (V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes))
        V.Flags |= SMALLOC_SITE_PARTITIONED | SMALLOC_SITE_REWRITTEN;
  }
  forgetEmptyCopies(Result.Sites);
  nameSites(Result.Sites);
  Result.Statics = decideStatics(
      M, Unit.references(), Origins, O, [&](const LoopReference &R, const SiteDecision &V) {
        return Judge.judge(R, {nullptr, V.SizeBytes, /*Many=*/false}, Detail::Whole);
      });
  if (O.Model == SMALLOC_MODEL_SPREAD &&
      (O.Heap == SMALLOC_HEAP_AUTO || O.Heap == SMALLOC_HEAP_MIGRATE ||
       O.Heap == SMALLOC_HEAP_GUEST)) {
    summarise(M, FAM, O, *Wrappers, Origins, Judge, Unit.references(), Result);
    promoteNests(Result);
    if (O.FirstTouch)
      noteFills(Result);
  }
  Result.Wrappers = std::move(Wrappers);
  return Result;
}

} // namespace

UnitDecisions decideUnit(Module &M, FunctionAnalysisManager &FAM, const Options &O) {
  return UnitAnalysis(M, FAM, O).run();
}

} // namespace smalloc
