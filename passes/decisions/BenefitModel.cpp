//===- BenefitModel.cpp - what superpages save for one reference ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/SiteText.h"
#include "passes/loops/ReferenceShape.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstrTypes.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

/// A saving of fewer cycles per access is lost in noise, and not worth a page-size decision.
constexpr double MinSavingCycles = 1.0;
/// With fewer accesses per page a superpage does not pay: collapsing or zeroing it costs the walks
/// that it saves.
constexpr double MinAccessesPerPage = 2.0;
/// References of a nest that are counted with the evaluated one. Of a larger nest, the nearest
/// count.
constexpr size_t MaxNest = 64;
/// Loop counts known at run time only are assumed to cover this multiple of the TLB reach.
constexpr uint64_t BeyondReach = 16;

/// Number of loops that walk an object once in the same way: one builds, one sums and one frees it.
/// More similar loops are a repetition, often an unrolled loop.
constexpr unsigned MaxSingleWalks = 3;

} // namespace

void ReferenceBenefit::add(const LoopReference &R) {
  if (R.Outermost)
    Nests[R.Outermost].push_back(&R);
  const PointerOrigins::Answer &From = Origins.originsOf(R.Pointer);
  if (From.Sites.empty())
    return;
  auto [Of, New] = GroupOfAnswer.try_emplace(&From, 0);
  if (New) {
    auto [It, First] =
        GroupIds.try_emplace(std::vector<const CallBase *>(From.Sites.begin(), From.Sites.end()),
                             static_cast<unsigned>(Groups.size()));
    Of->second = It->second;
    if (First) {
      Groups.emplace_back();
      for (const CallBase *Site : From.Sites)
        GroupsOf[Site].push_back(It->second);
    }
  }
  Groups[Of->second].insert(static_cast<unsigned>(Added.size()));
  Added.push_back(&R);
  if (const LoopLevel *Moving = R.Outermost ? R.varying() : nullptr) {
    const unsigned Walk = Alike
                              .try_emplace({R.Access->getFunction(), Moving->Kind,
                                            Moving->StrideBytes, R.Levels.size()},
                                           static_cast<unsigned>(Alike.size()))
                              .first->second;
    const unsigned Nest =
        NestsAlike.try_emplace({Walk, R.Outermost}, static_cast<unsigned>(NestsAlike.size()))
            .first->second;
    LikenessOf[&R] = {Walk, Nest};
  }
}

LocationSet ReferenceBenefit::reachingIndices(const CallBase *Site) const {
  LocationSet All, New;
  if (auto It = GroupsOf.find(Site); It != GroupsOf.end())
    for (unsigned Group : It->second)
      All.insert(Groups[Group], New);
  return All;
}

SmallVector<const LoopReference *, 8> ReferenceBenefit::reaching(const CallBase *Site) const {
  References Result;
  for (unsigned Index : reachingIndices(Site))
    Result.push_back(Added[Index]);
  return Result;
}

uint64_t ReferenceBenefit::sizeOf(const CallBase *Site) const {
  auto It = Sizes.find(Site);
  return It == Sizes.end() ? SMALLOC_UNKNOWN : It->second;
}

ReferenceBenefit::Walked ReferenceBenefit::walkedBy(const LoopReference &R) const {
  auto [It, New] = Known.try_emplace(&R);
  if (!New)
    return It->second;
  Walked Out;
  const Value *Object = nullptr;
  if (const PointerOrigins::Answer &From = Origins.originsOf(R.Pointer);
      From.Sites.size() == 1 && !From.Unknown) {
    Object = From.Sites[0];
    Out.Bytes = sizeOf(From.Sites[0]);
  } else {
    Object = getUnderlyingObject(R.Pointer);
  }
  Out.Number = ObjectNumbers.try_emplace(Object, ObjectNumbers.size() + 1).first->second;
  return Known[&R] = Out;
}

/// Evaluates \p R by the model of Magee and Qasem. The page counts of the nest's references, each
/// limited to its object, are summed and compared with the threshold.
Finding ReferenceBenefit::judgePaper(const LoopReference &R, const EvaluatedObject &Judged) const {
  Finding Out;
  Out.Reference = &R;
  Out.Pattern = patternOf(R, T.PrefetchMaxStrideBytes);
  const double Threshold = static_cast<double>(O.Machine.PaperThresholdPages);
  const References Nest = R.Outermost ? Nests.lookup(R.Outermost) : References{&R};
  LoopNumbers Loops;
  double Known = 0;
  unsigned Unsized = 0;
  bool Symbolic = false;
  for (const LoopReference *Other : Nest) {
    bool Counted = false;
    for (const LoopLevel &L : Other->Levels) {
      if (L.Kind != Motion::None && L.L && !L.Trip && !L.Counted)
        return Out; // trip count unknown: base pages
      Symbolic |= L.Kind != Motion::None && !L.Trip;
      Counted |= L.Kind != Motion::None;
    }
    const uint64_t Object = walkedBy(*Other).Bytes;
    LoopReference OwnLoops =
        *Other; // the paper looks at one procedure: callers' loops do not count
    erase_if(OwnLoops.Levels, [](const LoopLevel &L) { return !L.L; });
    if (Counted && Object == SMALLOC_UNKNOWN && !(tripsKnown(OwnLoops) && shapeKnown(OwnLoops)))
      ++Unsized;
    else
      Known += paperSpread(numbers(OwnLoops, Object, T.PageBytes, Loops), T.PageBytes);
  }
  Out.Pages = Known;
  bool ThisUnsized = Judged.SizeBytes == SMALLOC_UNKNOWN && !(tripsKnown(R) && shapeKnown(R));
  if (Known >= Threshold) {
    Out.MinBytes = 0;
  } else if (Unsized && ThisUnsized) {
    // The objects of symbolic size are assumed to be equal: together they must reach the threshold.
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

/// Returns the number of nests of the function of \p R that walk an object of \p Site as \p R does.
/// Above MaxSingleWalks they count as one unrolled loop; else, or if \p Site is null, the result is
/// 0.
ReferenceBenefit::Repetitions ReferenceBenefit::repetitionsOf(const LoopReference &R,
                                                              const CallBase *Site) const {
  auto Its = LikenessOf.find(&R);
  if (!Site || Its == LikenessOf.end())
    return 0;
  if (CountedFor != Site) {
    CountedFor = Site;
    Counted.assign(Alike.size(), 0);
    LocationSet Met;
    for (unsigned Index : reachingIndices(Site))
      if (auto Other = LikenessOf.find(Added[Index]);
          Other != LikenessOf.end() && Met.insert(Other->second.Nest))
        ++Counted[Other->second.Walk];
  }
  const Repetitions Count = Counted[Its->second.Walk];
  return Count > MaxSingleWalks ? Count : 0;
}

/// Returns the nest of \p R as input of the spread model, with \p R (made from \p Given) first.
std::vector<SpreadReference> ReferenceBenefit::nestOf(const LoopReference &R,
                                                      const LoopReference &Given,
                                                      const EvaluatedObject &Judged) const {
  std::vector<SpreadReference> Spreads;
  LoopNumbers Loops;
  auto Add = [&](const LoopReference &Other, const Walked &By) {
    SpreadReference &S = Spreads.emplace_back(numbers(Other, By.Bytes, T.PageBytes, Loops));
    S.Object = By.Number;
    S.Group = Other.Group;
  };
  Walked Own = walkedBy(Given);
  const unsigned Number = Own.Number;
  const bool Sized = Judged.SizeBytes != SMALLOC_UNKNOWN && !Judged.Many;
  Own.Bytes = Sized ? Judged.SizeBytes : SMALLOC_UNKNOWN;
  Add(R, Own);
  auto It = R.Outermost ? Nests.find(R.Outermost) : Nests.end();
  if (It == Nests.end())
    return Spreads;
  const References &Nest = It->second;
  const size_t At = static_cast<size_t>(find(Nest, &Given) - Nest.begin());
  const size_t From = At > MaxNest / 2 ? std::min(At - MaxNest / 2, Nest.size()) : 0;
  for (size_t K = From; K < Nest.size() && Spreads.size() < MaxNest; ++K)
    if (Nest[K] != &Given) {
      Walked By = walkedBy(*Nest[K]);
      if (By.Number == Number)
        By.Bytes = Own.Bytes;
      Add(*Nest[K], By);
    }
  return Spreads;
}

/// Returns the cycles per access, of \p Cost, that superpages under the first reference's object
/// save. The reference still misses on superpages if it walks more of them than the TLB holds.
double ReferenceBenefit::savingOf(std::vector<SpreadReference> Nest, double Cost) const {
  for (SpreadReference &R : Nest)
    R.Superpages = R.Object == Nest[0].Object;
  const SpreadResult On = spreadOfFirst(Nest, T);
  return std::max(0.0, Cost - On.ExposedPerAccess * O.Machine.walkCycles(On.Pages));
}

/// Returns the cost of the shape of \p Own, which must be for an object of unknown size.
ReferenceBenefit::AnySize &ReferenceBenefit::ofAnySize(const SpreadReference &Own) const {
  auto [It, New] = Shapes.try_emplace(shapeOf(Own));
  if (New)
    It->second.MinBytes = smallestPayingBytes(Own, T, O.Machine.WalkNearCycles, MinSavingCycles);
  return It->second;
}

const Finding &ReferenceBenefit::judge(const LoopReference &Given, const EvaluatedObject &Judged,
                                       Detail D) const {
  const Repetitions Around = repetitionsOf(Given, Judged.Site);
  const bool Unsized =
      Judged.SizeBytes == SMALLOC_UNKNOWN || (Judged.Many && O.Model == SMALLOC_MODEL_SPREAD);
  if (!Unsized || D == Detail::Whole)
    return Last = judgeAnew(Given, Around, Judged, D);
  // The finding is valid for an object of any size. Other sites, the summary for other units and
  // the promotion points need the same one.
  if (auto It = OfAnything.find({&Given, Around}); It != OfAnything.end())
    return It->second;
  return OfAnything[{&Given, Around}] = judgeAnew(Given, Around, Judged, D);
}

/// One evaluation of a reference.
struct ReferenceBenefit::Evaluation {
  const LoopReference &Given;
  const LoopReference &R; ///< Given inside the loop that its copies count as
  const EvaluatedObject &Judged;
  bool Whole, Sized;
  SpreadReference Own;               ///< R over an object of unknown size
  std::vector<SpreadReference> Nest; ///< empty: not counted
  SpreadResult Counted;              ///< of Nest
};

/// Returns the counts of the whole nest. For most references the own walk is enough.
const SpreadResult &ReferenceBenefit::inNest(Evaluation &E) const {
  if (E.Nest.empty()) {
    E.Nest = nestOf(E.R, E.Given, E.Judged);
    E.Counted = spreadOfFirst(E.Nest, T);
  }
  return E.Counted;
}

/// True if each page is touched about once.
bool ReferenceBenefit::isRare(Evaluation &E) const {
  const double Accesses = iterations(E.Own, 0, E.Own.Levels.size());
  // Unpredictable accesses to an object of unknown size: the object may be small enough for them to
  // return to its pages. That needs enough accesses to return to as many pages as the reach holds.
  if (isUnpredictable(E.R.varying()->Kind) && !E.Sized)
    return Accesses < MinAccessesPerPage * static_cast<double>(T.ReachPages + 1);
  if (E.Sized)
    return inNest(E).AccessesPerPage < MinAccessesPerPage;
  return Accesses / pagesTouched(E.Own, static_cast<unsigned>(E.Own.Levels.size()), T.PageBytes) <
         MinAccessesPerPage;
}

Finding ReferenceBenefit::judgeAnew(const LoopReference &Given, Repetitions Around,
                                    const EvaluatedObject &Judged, Detail D) const {
  if (O.Model == SMALLOC_MODEL_PAPER)
    return judgePaper(Given, Judged);
  const LoopReference R = insideOneMore(Given, Around);
  Evaluation E{
      Given, R,  Judged, D == Detail::Whole, Judged.SizeBytes != SMALLOC_UNKNOWN && !Judged.Many,
      {},    {}, {}};
  Finding Out;
  Out.Reference = &Given;
  Out.Pattern = patternOf(R, T.PrefetchMaxStrideBytes);
  if (Out.Pattern == SMALLOC_PATTERN_NONE)
    return Out;
  if (walksOnce(R)) {
    if (E.Whole)
      Out.Why =
          "walked once through pointers in " + nestText(R) + ": its pages are not accessed again";
    return Out;
  }
  LoopNumbers Loops;
  E.Own = numbers(R, SMALLOC_UNKNOWN, T.PageBytes, Loops);
  // The page count is known if the loops are, whatever follows from it.
  const bool Known = tripsKnown(R) && shapeKnown(R) && !isUnpredictable(R.varying()->Kind);
  if (Known) {
    Out.Pages = inNest(E).Pages;
    Out.Accesses = inNest(E).Accesses;
    Out.Misses = inNest(E).MissesPerAccess;
    Out.Exposed = inNest(E).ExposedPerAccess;
  }
  if (isRare(E)) {
    if (E.Whole)
      Out.Why = "each page is touched about once in " + nestText(R) +
                ": a superpage would have to be filled for it";
    return Out;
  }
  const bool Countable = E.Sized || Known;
  const double Cost = Countable && !R.Prefetched
                          ? inNest(E).ExposedPerAccess * O.Machine.walkCycles(inNest(E).Pages)
                          : 0;
  const bool Hidden =
      !R.Prefetched && Out.Pattern == SMALLOC_PATTERN_STREAMING &&
      (Countable ? Cost < MinSavingCycles : ofAnySize(E.Own).MinBytes == SMALLOC_UNKNOWN);
  if (R.Prefetched || Hidden) {
    if (E.Whole) {
      Out.Misses = inNest(E).MissesPerAccess;
      Out.Why = R.Prefetched
                    ? "prefetched by the program in " + nestText(R) + ": its walks are overlapped"
                    : "streamed in " + nestText(R) + ": the prefetcher hides the walks";
    }
    return Out;
  }
  if (Out.Pattern == SMALLOC_PATTERN_STREAMING) // too short for the prefetcher
    Out.Pattern = SMALLOC_PATTERN_STRIDED;
  if (Countable)
    judgeCounted(E, Cost, Out);
  else
    judgeAnySize(E, Out);
  return Out;
}

/// Completes \p Out for a nest whose pages can be counted. \p Cost: cycles per access.
void ReferenceBenefit::judgeCounted(Evaluation &E, double Cost, Finding &Out) const {
  Out.Pages = inNest(E).Pages;
  Out.Misses = inNest(E).MissesPerAccess;
  Out.Exposed = inNest(E).ExposedPerAccess;
  if (tripsKnown(E.R))
    Out.Accesses = inNest(E).Accesses;
  Out.Saving = Cost >= MinSavingCycles ? savingOf(E.Nest, Cost) : Cost;
  if (Out.Saving >= MinSavingCycles)
    Out.MinBytes = 0;
  if (!E.Whole)
    return;
  Out.Why = motionText(E.R) + " in " + nestText(E.R) + ": " + missesText(Out.Misses) + ", spread " +
            pagesText(Out.Pages) + ", reach " + std::to_string(T.ReachPages) + " pages";
  if (Cost >= MinSavingCycles && !Out.pays())
    Out.Why += "; superpages do not save these misses";
}

/// Completes \p Out for an object of any size.
void ReferenceBenefit::judgeAnySize(Evaluation &E, Finding &Out) const {
  AnySize &Shape = ofAnySize(E.Own);
  Out.MinBytes = Shape.MinBytes;
  // The cost well beyond the reach is the saving that ranks the site.
  if (!Shape.Beyond) {
    SpreadReference Large = E.Own;
    Large.ObjectBytes = 8 * T.ReachPages * T.PageBytes;
    Shape.Beyond = spreadOfFirst({Large}, T).ExposedPerAccess;
  }
  Out.Misses = *Shape.Beyond;
  Out.Saving = *Shape.Beyond * O.Machine.walkCycles(8.0 * static_cast<double>(T.ReachPages));
  constexpr double HardlyAny = 0.00005; // missesText() prints it as zero
  if (E.Whole && !Out.pays() && Out.Misses < HardlyAny)
    Out.Why = motionText(E.R) + " in " + nestText(E.R) +
              ": hardly any TLB misses, since its inner loops stay on a page";
  else if (E.Whole)
    Out.Why = motionText(E.R) + " in " + nestText(E.R) + ": about " + missesText(Out.Misses) +
              " once " +
              (E.Judged.Many ? "the site's live objects outgrow" : "the object outgrows") +
              " the reach of " + std::to_string(T.ReachPages) + " pages";
}

std::optional<std::vector<SizeBounds>>
ReferenceBenefit::sizesThatPay(const LoopReference &Given, const EvaluatedObject &Judged,
                               const std::vector<OpenPlace> &Places, size_t Sizes) const {
  const LoopReference R = insideOneMore(Given, repetitionsOf(Given, Judged.Site));
  LoopNumbers Loops;
  const SpreadReference Own = numbers(R, SMALLOC_UNKNOWN, T.PageBytes, Loops);
  std::vector<uint64_t> Shape = shapeOf(Own);
  Shape.push_back(Sizes);
  for (const OpenPlace &P : Places) {
    Shape.insert(Shape.end(), {P.Level, P.Stride, P.Factor, P.Sizes.size()});
    Shape.insert(Shape.end(), P.Sizes.begin(), P.Sizes.end());
  }
  auto [It, New] = Bounds.try_emplace(std::move(Shape));
  if (!New)
    return It->second;
  std::vector<SpreadReference> Alone(1);
  auto Pays = [&](const SpreadReference &S) {
    // The misses take long to compute: count them only if the page count leaves the answer open.
    const double Pages = pagesTouched(S, static_cast<unsigned>(S.Levels.size()), T.PageBytes);
    if (Pages <= static_cast<double>(T.ReachPages) ||
        iterations(S, 0, S.Levels.size()) < MinAccessesPerPage * Pages)
      return false;
    Alone[0] = S;
    const double Cost = spreadOfFirst(Alone, T).ExposedPerAccess * O.Machine.walkCycles(Pages);
    return Cost >= MinSavingCycles && savingOf(Alone, Cost) >= MinSavingCycles;
  };
  return It->second =
             payingSizes({Own, Places, Sizes}, BeyondReach * T.ReachPages, T.PageBytes, Pays);
}

} // namespace smalloc
