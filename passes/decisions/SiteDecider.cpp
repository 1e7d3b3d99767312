//===- SiteDecider.cpp - decides one allocation site ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/SiteDecider.h"
#include "passes/decisions/SiteText.h"
#include "passes/loops/ReferenceShape.h"
#include "passes/loops/SizeConditions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include <cmath>

using namespace llvm;

namespace smalloc {
namespace {

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

/// Returns the reason why a fully written object belongs on superpages whatever its loops do.
std::string writtenText(const MachineProfile &Machine) {
  return "every byte is written: a superpage takes 1 page fault instead of " +
         std::to_string(SuperpageBytes / Machine.BasePageBytes) + " at the same memory";
}

/// True if \p F, for a reference to an object, is a better reason for a decision than \p Best.
bool isBetter(const Finding &F, const Finding &Best) {
  if (!Best.Reference)
    return true;
  if (F.pays() != Best.pays())
    return F.pays();
  if (F.Saving != Best.Saving)
    return F.Saving > Best.Saving;
  if (!Best.pays() && F.Pattern > Best.Pattern)
    return true;
  // then the lower MinBytes, then the surer reason
  return F.MinBytes != Best.MinBytes ? F.MinBytes < Best.MinBytes
                                     : Best.Reference->Assumed && !F.Reference->Assumed;
}

} // namespace

void SiteDecider::decide(SiteDecision &V) {
  const Facts Is = factsOf(V);
  if (Is.Many)
    V.Flags |= SMALLOC_SITE_SMALL;
  if (Is.Escapes)
    V.Flags |= SMALLOC_SITE_ESCAPES;
  if (V.SizeBytes != SMALLOC_UNKNOWN && (V.Flags & SMALLOC_SITE_FULLY_INITIALISED)) {
    // Whole superpages of the object; the tail stays on base pages.
    uint64_t Whole = V.SizeBytes / SuperpageBytes;
    V.FaultsSaved = Whole * (SuperpageBytes / O.Machine.BasePageBytes - 1);
  }
  Findings Found;
  judgeReferences(V, Is, Found);
  if (!Is.Written && !Is.Escapes && !Is.Many && V.SizeBytes == SMALLOC_UNKNOWN &&
      O.Model == SMALLOC_MODEL_SPREAD && O.Heap != SMALLOC_HEAP_OFF &&
      O.Heap != SMALLOC_HEAP_SUPERPAGE)
    addTests(V, Found);
  describe(V, Found.Best);
  choose(V, Is, Found);
}

SiteDecider::Facts SiteDecider::factsOf(SiteDecision &V) const {
  Facts Is;
  Is.Many = In.Sites.manyObjects(*V.Call, V);
  Is.Escapes = In.Origins.escapes(V.Call);
  Is.Context = V.Flags & SMALLOC_SITE_CONTEXT;
  Is.MaybeMany = In.Sites.maybeMany(*V.Call, V);
  const bool Large = V.SizeBytes == SMALLOC_UNKNOWN || V.SizeBytes >= SuperpageBytes;
  Is.CanBeBig = Large || Is.Many || (Is.Context && Is.MaybeMany);
  // The paper's model counts walks only.
  Is.Written = (V.Flags & SMALLOC_SITE_FULLY_INITIALISED) && Large && O.FirstTouch &&
               O.Model == SMALLOC_MODEL_SPREAD;
  return Is;
}

/// Finds the benefit for each reference that reaches the site of \p V.
void SiteDecider::judgeReferences(SiteDecision &V, const Facts &Is, Findings &Found) {
  const EvaluatedObject Object{V.Call, V.SizeBytes, Is.Many};
  SmallVector<const LoopReference *, 8> Reached(In.Judge.reaching(V.Call));
  for (const CallBase *Inside :
       In.Wrappers.inside(*V.Call)) // references inside the called function
    append_range(Reached, In.Judge.reaching(Inside));
  Finding &Best = Found.Best;
  for (const LoopReference *R : Reached) {
    const Finding &F =
        In.Judge.judge(*R, Object, O.SitesDir.empty() ? Detail::Verdict : Detail::Whole);
    if (!O.SitesDir.empty())
      V.References.push_back(rowOf(F));
    if (F.Pattern == SMALLOC_PATTERN_POINTER_CHASING)
      V.Flags |= SMALLOC_SITE_CHASED;
    Found.Earliest = std::min(Found.Earliest, F.MinBytes);
    if (F.pays() || F.Pattern == SMALLOC_PATTERN_STREAMING)
      Found.Walks.push_back({R, F.pays()});
    if (isBetter(F, Best))
      Best = F;
  }
  if (Best.Reference)
    Best = In.Judge.judge(*Best.Reference, Object, Detail::Whole);
}

/// Lets the allocation test loop sizes if walks pay only at some sizes.
void SiteDecider::addTests(SiteDecision &V, Findings &Found) {
  const LoopReference *Opened = testSizes(V, Found.Walks, Found.SizesText);
  if (!Opened)
    return;
  Found.Earliest = std::min(Found.Earliest, (O.Machine.ReachPages + 1) * O.Machine.BasePageBytes);
  Finding &Best = Found.Best;
  if (Best.pays())
    return;
  Best.Reference = Opened;
  Best.Pattern = SMALLOC_PATTERN_STRIDED;
  Best.MinBytes = Found.Earliest;
  Best.Why =
      motionText(*Opened) + " in " + nestText(*Opened) + ": runs too short for the prefetcher";
}

/// Finds the loop sizes, known at run time only, at which the walks \p Walks of an object of
/// unknown size pay. If these sizes are to decide, sets V.When, which \p V's call then tests, and
/// \p Text, its description. Returns a walk that pays only at such sizes; null if there is none.
const LoopReference *SiteDecider::testSizes(SiteDecision &V, ArrayRef<Sizeable> Walks,
                                            std::string &Text) {
  const LoopReference *Opened = nullptr;
  SizeConditions When;
  for (const auto &[Reference, Pays] : Walks) {
    const LoopReference &R = *Reference;
    std::optional<OpenSizes> Open;
    std::optional<std::vector<SizeBounds>> Bounds;
    if (R.Access->getFunction() == V.Call->getFunction()) {
      ScalarEvolution &SE = In.FAM.getResult<ScalarEvolutionAnalysis>(*V.Call->getFunction());
      Open = openSizes(R, SE);
      if (Open && testableAt(*Open, *V.Call, SE))
        Bounds = In.Judge.sizesThatPay(R, {V.Call, V.SizeBytes, /*Many=*/false}, Open->Places,
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

/// Sets the numbers and the reason that \p V reports.
void SiteDecider::describe(SiteDecision &V, const Finding &Best) const {
  const LoopReference *R = Best.Reference;
  V.Pattern = R ? Best.Pattern : SMALLOC_PATTERN_NONE;
  if (R && Best.Pattern != SMALLOC_PATTERN_NONE) {
    if (O.Model == SMALLOC_MODEL_SPREAD) { // the paper's formula has neither
      V.MissesPerAccess = Best.Misses;
      V.SavingCycles = Best.Saving;
    }
    if (Best.Pages >= 0)
      V.SpreadPages = static_cast<uint64_t>(std::ceil(Best.Pages));
    V.SpreadText = spreadText(*R, O.Machine.BasePageBytes);
  }
  V.Why = Best.Why;
  if (V.Why.empty())
    V.Why = R ? "its address does not move with any loop" : "no loop of this unit walks it";
  const unsigned Sure = !R ? 60 : R->Assumed ? 40 : tripsKnown(*R) ? 90 : 70;
  V.Confidence = In.Origins.gaveUp() ? 10 : Sure;
}

void SiteDecider::choose(SiteDecision &V, const Facts &Is, const Findings &Found) const {
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
  if (Found.Best.pays() && (Is.CanBeBig || O.Model == SMALLOC_MODEL_PAPER))
    return choosePaying(V, Is, Found);
  if (Is.Written)
    return chooseWritten(V);
  if (Is.Escapes && Is.CanBeBig && O.Model == SMALLOC_MODEL_SPREAD)
    return chooseUndecided(V, Is);
  V.Decision = SMALLOC_DECISION_BASE;
  if (!Is.CanBeBig && Found.Best.pays())
    V.Why += "; but it is smaller than a superpage";
  if (O.Rewrite == RewriteScope::All)
    V.Flags |= SMALLOC_SITE_REWRITTEN;
}

void SiteDecider::choosePaying(SiteDecision &V, const Facts &Is, const Findings &Found) const {
  V.Decision = Found.Earliest == 0 ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
  V.MinBytes = Found.Earliest;
  V.Flags |= SMALLOC_SITE_REWRITTEN;
  if (!V.When.empty())
    V.Why += "; only " + Found.SizesText + ", which is tested where it is allocated";
  if (Is.Written) {
    V.MinBytes = std::min(V.MinBytes, SuperpageBytes);
    V.Why += "; " + writtenText(O.Machine);
  }
}

void SiteDecider::chooseWritten(SiteDecision &V) const {
  const bool Sized = V.SizeBytes != SMALLOC_UNKNOWN;
  V.Decision = Sized ? SMALLOC_DECISION_SUPERPAGE : SMALLOC_DECISION_RUNTIME;
  V.MinBytes = Sized ? 0 : SuperpageBytes;
  V.Flags |= SMALLOC_SITE_REWRITTEN;
  // An object below a superpage gains nothing, however many there are.
  V.Flags &= ~SMALLOC_SITE_SMALL;
  V.Why = writtenText(O.Machine) + "; " + V.Why;
}

void SiteDecider::chooseUndecided(SiteDecision &V, const Facts &Is) const {
  V.Decision = SMALLOC_DECISION_RUNTIME;
  V.MinBytes = (O.Machine.ReachPages + 1) * O.Machine.BasePageBytes;
  V.Flags |= SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_REWRITTEN;
  if (Is.MaybeMany)
    V.Flags |= SMALLOC_SITE_MANY;
  if (Is.Context && V.SizeBytes != SMALLOC_UNKNOWN && V.SizeBytes < SuperpageBytes)
    V.Flags |= SMALLOC_SITE_SMALL; // its objects are not watched individually
  if (V.Pattern == SMALLOC_PATTERN_NONE)
    V.Pattern = SMALLOC_PATTERN_UNKNOWN;
  V.Confidence = std::min(V.Confidence, 30u);
  V.Why += "; its pointer leaves the unit, so other units may walk it: watched at run time";
}

} // namespace smalloc
