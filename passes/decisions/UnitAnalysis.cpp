//===- UnitAnalysis.cpp - decides all sites of a unit ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/UnitAnalysis.h"
#include "passes/decisions/DirectiveUse.h"
#include "passes/decisions/SiteDecider.h"
#include "passes/decisions/StaticArrays.h"
#include "passes/decisions/UnitSites.h"
#include "passes/decisions/UnitSummary.h"
#include "passes/ir/InstructionCount.h"
#include "passes/loops/ThreadPartition.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

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
/// this budget for each of up to MostUnitsOfBudget units.
constexpr unsigned OriginsBudget = 400000, MostUnitsOfBudget = 16;

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

  UnitDecisions run(KeptNodes Kept);

private:
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
  const UnitInputs Inputs{M, FAM, O, *Wrappers, Origins, Judge, Unit};
};

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

UnitDecisions UnitAnalysis::run(KeptNodes Kept) {
  UnitDecisions Result;
  Result.Kept = std::move(Kept);
  Result.OriginsGaveUp = Origins.gaveUp();
  Result.Sites = Unit.collect(Judge);
  SiteDecider Decider(Inputs);
  for (size_t I = 0; I < Result.Sites.size(); ++I) {
    Decider.decide(Result.Sites[I]);
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
    summarise(Inputs, Result);
    promoteNests(Result);
    if (O.FirstTouch)
      noteFills(Result);
  }
  Result.Wrappers = std::move(Wrappers);
  return Result;
}

} // namespace

UnitDecisions decideUnit(Module &M, FunctionAnalysisManager &FAM, const Options &O,
                         KeptNodes Kept) {
  return UnitAnalysis(M, FAM, O).run(std::move(Kept));
}

} // namespace smalloc
