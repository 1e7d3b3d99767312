//===- Verdict.cpp - superpages for this site? ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Verdict.h"
#include "SiteTable.h"
#include "SiteText.h"
#include "ThreadPartition.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

/// Iterations assumed of a loop whose count is unknown: many, so that the object's size bounds the spread.
constexpr uint64_t AssumedTrip = 1u << 20;
/// Unpredictable accesses of unknown number: enough to come back to every page of any object.
constexpr uint64_t AssumedDraws = uint64_t(1) << 40;
/// A saving below this many cycles an access is lost in noise: not worth a page-size decision.
constexpr double MinSavingCycles = 1.0;
/// Below this many accesses to a page it is not worth a superpage: the walk saved is paid by collapsing or zeroing.
constexpr double MinAccessesPerPage = 2.0;
constexpr uint64_t SuperpageBytes = 2u << 20;
/// Keys with an access in a unit's summary, about 200 bytes each.
constexpr size_t MaxKeyAccesses = 512;

SpreadReference numbers(const LoopReference &R, size_t Depth, uint64_t ObjectBytes,
                        uint64_t PageBytes) {
  SpreadReference S;
  S.ElementBytes = std::max<uint64_t>(R.Bytes, 1);
  S.ObjectBytes = ObjectBytes;
  // References of an imperfect nest are aligned at the outermost loop.
  S.Levels.resize(Depth > R.Levels.size() ? Depth - R.Levels.size() : 0);
  for (const LoopLevel &L : R.Levels) {
    SpreadLevel Out;
    Out.Irregular = isUnpredictable(L.Kind);
    Out.TripAssumed = !L.Trip;
    Out.Trip = std::max<uint64_t>(L.Trip.value_or(Out.Irregular ? AssumedDraws : AssumedTrip), 1);
    if (L.Kind == Motion::Constant)
      Out.StrideBytes = L.StrideBytes;
    else if (L.Kind == Motion::Symbolic)
      Out.StrideBytes = static_cast<int64_t>(PageBytes); // the row of an array of unknown shape
    S.Levels.push_back(Out);
  }
  return S;
}

smalloc_pattern patternOf(const LoopReference &R, uint64_t MaxStreamStride) {
  const LoopLevel *L = R.varying();
  if (!L)
    return SMALLOC_PATTERN_NONE;
  switch (L->Kind) {
  case Motion::Chase:
    return SMALLOC_PATTERN_POINTER_CHASING;
  case Motion::Gather:
  case Motion::Irregular:
    return SMALLOC_PATTERN_SCATTERED;
  case Motion::Symbolic:
    return SMALLOC_PATTERN_STRIDED;
  default:
    return static_cast<uint64_t>(std::abs(L->StrideBytes)) <= MaxStreamStride
               ? SMALLOC_PATTERN_STREAMING
               : SMALLOC_PATTERN_STRIDED;
  }
}

bool tripsKnown(const LoopReference &R) {
  return all_of(R.Levels, [](const LoopLevel &L) { return L.Trip.has_value(); });
}

/// Where people find the loop of \p R.
std::string fileOf(const LoopReference &R) {
  const Function *F = R.Access->getFunction();
  if (const DILocation *At = R.Access->getDebugLoc())
    return At->getFilename().str();
  return F->getParent()->getSourceFileName();
}

bool shapeKnown(const LoopReference &R) {
  return none_of(R.Levels, [](const LoopLevel &L) { return L.Kind == Motion::Symbolic; });
}

/// Loops that each walk an object once in the same way: building, summing and freeing it make three; more are a
/// repetition (often an unrolled one).
constexpr unsigned MaxSingleWalks = 3;

/// A structure, or an array of pointers to objects, that \p R walks without an outer loop that comes back to its pages.
bool walksOnce(const LoopReference &R) {
  const LoopLevel *Moving = R.varying();
  return Moving &&
         (Moving->Kind == Motion::Chase || (Moving->Kind == Motion::Gather && R.ThroughPointers)) &&
         &R.Levels.back() == Moving && !R.Assumed;
}

/// What one reference asks for its object.
struct Finding {
  const LoopReference *Reference = nullptr;
  smalloc_pattern Pattern = SMALLOC_PATTERN_NONE;
  double Misses = 0, Saving = 0, Pages = -1, AccessesPerPage = 0;
  uint64_t MinBytes = SMALLOC_UNKNOWN; ///< pays from here on; 0: always
  std::string Why;
  bool pays() const { return MinBytes != SMALLOC_UNKNOWN; }
};

class UnitAnalysis {
public:
  UnitAnalysis(Module &M, FunctionAnalysisManager &FAM, const Options &O)
      : M(M), FAM(FAM), O(O), T(O.Machine.target()),
        Wrappers(std::make_unique<AllocationWrappers>(M, FAM)),
        Origins(
            M,
            [&](Function &F) -> const TargetLibraryInfo & {
              return FAM.getResult<TargetLibraryAnalysis>(F);
            },
            *Wrappers) {}

  UnitVerdicts run();

private:
  void collectReferences();
  SiteVerdict describe(CallBase &Call, AllocFamily Family);
  bool maybeMany(const CallBase &Call, const SiteVerdict &V);
  bool manyObjects(const CallBase &Call, const SiteVerdict &V);
  LoopReference withRepetition(const LoopReference &R, const CallBase *Site);
  Finding judge(const LoopReference &Given, const SiteVerdict &V, bool Many);
  Finding judgePaper(const LoopReference &R, const SiteVerdict &V);
  void decide(SiteVerdict &V);
  void summarise(UnitVerdicts &Result);
  uint64_t sizeOf(const CallBase *Site);

  Module &M;
  FunctionAnalysisManager &FAM;
  const Options &O;
  SpreadTarget T;
  std::unique_ptr<AllocationWrappers> Wrappers;
  PointerOrigins Origins;
  DenseSet<const Function *> InLoops, FromOutside;
  std::vector<LoopReference> References;
  DenseMap<const Function *, std::vector<LoopReference>> ByFunction;
  DenseMap<const CallBase *, SmallVector<const LoopReference *, 8>> Reaching;
  DenseMap<const Loop *, SmallVector<const LoopReference *, 8>> Nests;
  DenseMap<const CallBase *, uint64_t> Sizes;
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

void UnitAnalysis::collectReferences() {
  InLoops = functionsCalledInLoops(M, FAM);
  FromOutside = calledFromOutside(M);
  for (Function &F : M) {
    if (leavesAlone(F))
      continue;
    // An external function that nobody in the unit calls: other units may well call it in a loop.
    bool CalledFromElsewhere = !F.hasLocalLinkage() && F.use_empty() && F.getName() != "main";
    std::vector<LoopReference> Found = loopReferences(F, FAM, InLoops.contains(&F), T.PageBytes);
    for (LoopReference &R : Found)
      if (CalledFromElsewhere && !R.Levels.empty() && isUnpredictable(R.Levels.back().Kind))
        R.Assumed = true;
    ByFunction[&F] = std::move(Found);
  }
  for (Function &F : M)
    for (const LoopReference &R : ByFunction.lookup(&F)) // keeps program order
      References.push_back(R);
  for (const LoopReference &R : References) {
    if (R.Repeated)
      continue;
    if (R.Outermost)
      Nests[R.Outermost].push_back(&R);
    for (const CallBase *Site : Origins.originsOf(R.Pointer).Sites)
      Reaching[Site].push_back(&R);
  }
}

uint64_t UnitAnalysis::sizeOf(const CallBase *Site) {
  auto It = Sizes.find(Site);
  return It == Sizes.end() ? SMALLOC_UNKNOWN : It->second;
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

/// Magee and Qasem: the nest's references together against the threshold, each clamped to its object.
Finding UnitAnalysis::judgePaper(const LoopReference &R, const SiteVerdict &V) {
  Finding Out;
  Out.Reference = &R;
  Out.Pattern = patternOf(R, T.PrefetchMaxStrideBytes);
  const double Threshold = static_cast<double>(O.Machine.PaperThresholdPages);
  SmallVector<const LoopReference *, 8> Nest =
      R.Outermost ? Nests.lookup(R.Outermost) : SmallVector<const LoopReference *, 8>{&R};
  double Known = 0;
  unsigned Unsized = 0;
  bool Symbolic = false;
  for (const LoopReference *Other : Nest) {
    bool Counted = false;
    for (const LoopLevel &L : Other->Levels) {
      if (L.Kind != Motion::None && L.L && !L.Trip && !L.TripScev)
        return Out; // trip count unknown: base pages
      Symbolic |= L.Kind != Motion::None && !L.Trip;
      Counted |= L.Kind != Motion::None;
    }
    uint64_t Object = SMALLOC_UNKNOWN;
    PointerOrigins::Answer From = Origins.originsOf(Other->Pointer);
    if (From.Sites.size() == 1 && !From.Unknown)
      Object = sizeOf(From.Sites[0]);
    LoopReference OwnLoops =
        *Other; // the paper looks at one procedure: callers' loops do not count
    erase_if(OwnLoops.Levels, [](const LoopLevel &L) { return !L.L; });
    if (Counted && Object == SMALLOC_UNKNOWN && !(tripsKnown(OwnLoops) && shapeKnown(OwnLoops)))
      ++Unsized;
    else
      Known += paperSpread(numbers(OwnLoops, 0, Object, T.PageBytes), T.PageBytes);
  }
  Out.Pages = Known;
  bool ThisUnsized = V.SizeBytes == SMALLOC_UNKNOWN && !(tripsKnown(R) && shapeKnown(R));
  if (Known >= Threshold) {
    Out.MinBytes = 0;
  } else if (Unsized && ThisUnsized) {
    // The objects of symbolic size are taken to be alike: together they must reach the threshold.
    double Pages = std::ceil((Threshold - Known) / Unsized);
    Out.MinBytes = static_cast<uint64_t>(Pages - 1) * T.PageBytes + 1;
    Out.Pages = -1;
  }
  Out.Why =
      (Twine("spread ") + (Out.Pages >= 0 ? pagesText(Out.Pages) : "decided by the object's size") +
       " in " + nestText(R) + " against the paper's threshold of " +
       Twine(O.Machine.PaperThresholdPages) + " pages")
          .str();
  return Out;
}

/// \p R inside one loop more if the unit has so many loops like it that they are one loop, unrolled.
LoopReference UnitAnalysis::withRepetition(const LoopReference &R, const CallBase *Site) {
  LoopReference Repeated = R;
  const LoopLevel *Moving = R.varying();
  if (!Site || !Moving || !R.Outermost)
    return Repeated;
  SmallPtrSet<const Loop *, 8> Alike;
  for (const LoopReference *Other : Reaching.lookup(Site)) {
    const LoopLevel *Its = Other->varying();
    if (Other->Outermost && Other->Access->getFunction() == R.Access->getFunction() && Its &&
        Its->Kind == Moving->Kind && Its->StrideBytes == Moving->StrideBytes &&
        Other->Levels.size() == R.Levels.size())
      Alike.insert(Other->Outermost);
  }
  if (Alike.size() > MaxSingleWalks) {
    LoopLevel Around;
    Around.Trip = Alike.size();
    Repeated.Levels.push_back(Around);
  }
  return Repeated;
}

Finding UnitAnalysis::judge(const LoopReference &Given, const SiteVerdict &V, bool Many) {
  if (O.Model == SMALLOC_MODEL_PAPER)
    return judgePaper(Given, V);
  const LoopReference R = withRepetition(Given, V.Call);
  Finding Out;
  Out.Reference = &Given;
  Out.Pattern = patternOf(R, T.PrefetchMaxStrideBytes);
  if (Out.Pattern == SMALLOC_PATTERN_NONE)
    return Out;
  const bool Sized = V.SizeBytes != SMALLOC_UNKNOWN && !Many;
  SmallVector<const LoopReference *, 8> Nest{&R};
  if (R.Outermost)
    for (const LoopReference *Other : Nests.lookup(R.Outermost))
      if (Other != &Given)
        Nest.push_back(Other);
  size_t Depth = 0;
  for (const LoopReference *Other : Nest)
    Depth = std::max(Depth, Other->Levels.size());
  std::vector<SpreadReference> Spreads;
  for (const LoopReference *Other : Nest) {
    uint64_t Object = SMALLOC_UNKNOWN;
    PointerOrigins::Answer From = Origins.originsOf(Other->Pointer);
    if (Other == &R)
      Object = Sized ? V.SizeBytes : SMALLOC_UNKNOWN;
    else if (From.Sites.size() == 1 && !From.Unknown)
      Object = sizeOf(From.Sites[0]);
    Spreads.push_back(numbers(*Other, Depth, Object, T.PageBytes));
  }
  SpreadResult Alone = nestSpread(Spreads, T)[0];
  Out.AccessesPerPage = Alone.AccessesPerPage;
  const std::string Where = nestText(R);
  if (walksOnce(R)) {
    Out.Why = "walked once through pointers in " + Where + ": nothing comes back to its pages";
    return Out;
  }
  // Unpredictable accesses to an object of unknown size: it may be small enough for them to come back to its pages, if
  // there are enough of them to come back to as many pages as the reach has.
  const bool Unbounded = isUnpredictable(R.varying()->Kind) && !Sized;
  const bool Rare =
      Unbounded ? Alone.Accesses < MinAccessesPerPage * static_cast<double>(T.ReachPages + 1)
                : Alone.AccessesPerPage < MinAccessesPerPage;
  if (Rare) {
    Out.Why = "each page is touched about once in " + Where +
              ": a superpage would have to be filled for it";
    return Out;
  }
  if (Out.Pattern == SMALLOC_PATTERN_STREAMING) {
    Out.Misses = Alone.MissesPerAccess;
    Out.Why = "streamed in " + Where + ": the prefetcher hides the walks";
    return Out;
  }
  const bool Closed =
      Sized || (tripsKnown(R) && shapeKnown(R) && !isUnpredictable(R.varying()->Kind));
  if (Closed) {
    Out.Pages = Alone.Pages;
    Out.Misses = Alone.MissesPerAccess;
    Out.Saving = Alone.ExposedPerAccess * O.Machine.walkCycles(Alone.Pages);
    if (Out.Saving >= MinSavingCycles)
      Out.MinBytes = 0;
    Out.Why = motionText(R) + " in " + Where + ": " + missesText(Out.Misses) + ", spread " +
              pagesText(Out.Pages) + ", reach " + std::to_string(T.ReachPages) + " pages";
    return Out;
  }
  SpreadReference Own = numbers(R, 0, SMALLOC_UNKNOWN, T.PageBytes);
  Out.MinBytes = smallestPayingBytes(Own, T, O.Machine.WalkNearCycles, MinSavingCycles);
  // What it costs well beyond the reach: the saving that ranks the site.
  Own.ObjectBytes = 8 * T.ReachPages * T.PageBytes;
  SpreadResult Beyond = nestSpread({Own}, T)[0];
  Out.Misses = Beyond.ExposedPerAccess;
  Out.Saving =
      Beyond.ExposedPerAccess * O.Machine.walkCycles(8.0 * static_cast<double>(T.ReachPages));
  Out.Why = motionText(R) + " in " + Where + ": about " + missesText(Out.Misses) + " once " +
            (Many ? "the site's live objects outgrow" : "the object outgrows") + " the reach of " +
            std::to_string(T.ReachPages) + " pages";
  return Out;
}

const Function *calledFunction(const CallBase &Call) {
  return cast<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

std::string familyName(const CallBase &Call, AllocFamily Family) {
  return Family == AllocFamily::Wrapper ? calledFunction(Call)->getName().str()
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
  describeSize(V, FAM.getResult<ScalarEvolutionAnalysis>(*Call.getFunction()));
  return V;
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
  if (fullyInitialised(*V.Call, V.Family, ByFunction[V.Call->getFunction()], FAM))
    V.Flags |= SMALLOC_SITE_FULLY_INITIALISED;
  if (V.SizeBytes != SMALLOC_UNKNOWN && (V.Flags & SMALLOC_SITE_FULLY_INITIALISED)) {
    // Whole superpages of the object; the tail stays on base pages.
    uint64_t Whole = V.SizeBytes / SuperpageBytes;
    V.FaultsSaved = Whole * (SuperpageBytes / T.PageBytes - 1);
  }
  Finding Best;
  uint64_t Earliest = SMALLOC_UNKNOWN; // any nest that pays is reason enough
  SmallVector<const LoopReference *, 8> Reached = Reaching.lookup(V.Call);
  for (const CallBase *Inside : Wrappers->inside(*V.Call)) // what the function does to it at once
    Reached.append(Reaching.lookup(Inside));
  for (const LoopReference *R : Reached) {
    Finding F = judge(*R, V, Many);
    bool Better = F.pays() != Best.pays() ? F.pays() : F.Saving > Best.Saving;
    if (Best.Reference && F.pays() == Best.pays() &&
        F.Saving == Best.Saving) // the earlier, then the surer reason
      Better = F.MinBytes != Best.MinBytes ? F.MinBytes < Best.MinBytes
                                           : Best.Reference->Assumed && !R->Assumed;
    Earliest = std::min(Earliest, F.MinBytes);
    if (!Best.Reference || Better ||
        (F.Saving == Best.Saving && !Best.pays() && F.Pattern > Best.Pattern))
      Best = std::move(F);
  }
  V.Pattern = Best.Reference ? Best.Pattern : SMALLOC_PATTERN_NONE;
  if (Best.Reference && Best.Pattern != SMALLOC_PATTERN_NONE) {
    if (O.Model == SMALLOC_MODEL_SPREAD) { // the paper's formula says nothing about either
      V.MissesPerAccess = Best.Misses;
      V.SavingCycles = Best.Saving;
    }
    if (Best.Pages >= 0)
      V.SpreadPages = static_cast<uint64_t>(std::ceil(Best.Pages));
    V.SpreadText = spreadText(*Best.Reference, T.PageBytes);
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
    return;
  }
  if (Escapes && CanBeBig && O.Model == SMALLOC_MODEL_SPREAD) {
    V.Decision = SMALLOC_DECISION_RUNTIME;
    V.MinBytes = (T.ReachPages + 1) * T.PageBytes;
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
  const SiteVerdict Anything;
  std::map<std::pair<uint64_t, bool>, KeyedSummary::Access> Best;
  for (const LoopReference &R : References) {
    if (R.Repeated || Best.size() >= MaxKeyAccesses)
      continue;
    auto Roots = Keys.rootsOf(R.Pointer);
    if (Roots.empty())
      continue;
    Finding F = judge(R, Anything, false);
    if (F.Pattern == SMALLOC_PATTERN_NONE)
      continue;
    KeyedSummary::Access A;
    A.MinBytes = F.MinBytes;
    A.Misses = F.Misses;
    A.Saving = F.Saving;
    A.Pattern = F.Pattern;
    A.Confidence = R.Assumed ? 40 : tripsKnown(R) ? 90 : 70;
    A.Why = F.Why + " (" + fileOf(R) + ")";
    for (KeyRoot Root : Roots) {
      KeyedSummary::Access &Known = Best[{Root.Key, Root.Contents}];
      if (!Known.Root.Key || A.MinBytes < Known.MinBytes ||
          (A.MinBytes == Known.MinBytes && A.Saving > Known.Saving)) {
        Known = A;
        Known.Root = Root;
      }
    }
  }
  for (auto &[Key, A] : Best)
    Out.Accesses.push_back(std::move(A));
  Out.Names = Keys.names();
}

UnitVerdicts UnitAnalysis::run() {
  UnitVerdicts Result;
  Result.OriginsGaveUp = Origins.gaveUp();
  for (Function &F : M) {
    if (leavesAlone(F))
      continue;
    const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->hasFnAttr(SiteIdAttr)) {
        if (std::optional<AllocFamily> Family = allocationFamily(*Call, TLI)) {
          Result.Sites.push_back(describe(*Call, *Family));
          Sizes[Call] = Result.Sites.back().SizeBytes;
        } else if (Wrappers->isContext(*Call)) {
          Result.Sites.push_back(describe(*Call, AllocFamily::Wrapper));
          Sizes[Call] = Result.Sites.back().SizeBytes;
        }
      }
  }
  collectReferences();
  for (SiteVerdict &V : Result.Sites)
    decide(V);
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
  if (O.Model == SMALLOC_MODEL_SPREAD &&
      (O.Heap == SMALLOC_HEAP_SPLIT || O.Heap == SMALLOC_HEAP_MIGRATE))
    summarise(Result);
  if (O.Model == SMALLOC_MODEL_SPREAD &&
      (O.Heap == SMALLOC_HEAP_SPLIT || O.Heap == SMALLOC_HEAP_MIGRATE)) {
    // Promotion points also serve objects that other units allocated: there the nest alone decides. Known objects need
    // one if they may wait for promotion, that is, start on base pages.
    SiteVerdict Anything;
    DenseMap<const CallBase *, unsigned> Flags;
    for (const SiteVerdict &V : Result.Sites)
      Flags[V.Call] = V.Flags;
    auto MayWait = [&](const LoopReference &R) {
      PointerOrigins::Answer From = Origins.originsOf(R.Pointer);
      return From.Unknown || any_of(From.Sites, [&](const CallBase *Site) {
               return (Flags[Site] & SMALLOC_SITE_REWRITTEN) &&
                      !(Flags[Site] & SMALLOC_SITE_FULLY_INITIALISED);
             });
    };
    for (const LoopReference &R : References)
      if (R.Outermost && !R.Repeated && MayWait(R) && judge(R, Anything, false).pays())
        Result.Nests.push_back({R.Outermost, R.Access->getFunction(), R});
  }
  Result.Wrappers = std::move(Wrappers);
  return Result;
}

} // namespace

UnitVerdicts decideUnit(Module &M, FunctionAnalysisManager &FAM, const Options &O) {
  return UnitAnalysis(M, FAM, O).run();
}

} // namespace smalloc
