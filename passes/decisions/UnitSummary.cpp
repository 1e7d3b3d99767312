//===- UnitSummary.cpp - a unit's summary for other units -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/UnitSummary.h"
#include "passes/decisions/AccessCoverage.h"
#include "passes/ir/UnitName.h"
#include "passes/loops/ReferenceShape.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include <map>

using namespace llvm;

namespace smalloc {
namespace {

/// Most keys with an access in a unit's summary; one takes about 200 bytes.
constexpr size_t MaxKeyAccesses = 512;

/// Returns the file that holds the loop of \p R.
std::string fileOf(const LoopReference &R) {
  const Function *F = R.Access->getFunction();
  if (DebugLoc Start = R.Outermost ? R.Outermost->getStartLoc() : DebugLoc())
    return Start->getFilename().str();
  if (const DISubprogram *In = F->getSubprogram())
    return In->getFilename().str();
  return unitName(*F->getParent()).str();
}

} // namespace

void summarise(const UnitInputs &In, UnitDecisions &Result) {
  KeyNames Keys(In.M, In.Origins, In.Wrappers, In.FAM, In.O.Units);
  KeptNodes Nodes = Result.Kept;
  for (const SiteDecision &V : Result.Sites)
    if (V.steerable())
      Nodes[V.Call] = V.Node;
  KeyedSummary &Out = Result.Summary;
  Keys.collectFlows(Out, [&](const CallBase *Site) { return Nodes.lookup(Site); });
  std::map<std::pair<uint64_t, bool>, std::pair<KeyedSummary::Access, const LoopReference *>> Best;
  for (const LoopReference &R : In.Sites.references()) {
    if (R.Repeated || Best.size() >= MaxKeyAccesses)
      continue;
    if (isa<AllocaInst, GlobalVariable>(getUnderlyingObject(R.Pointer)))
      continue; // not a site's memory
    auto Roots = Keys.rootsOf(R.Pointer);
    if (Roots.empty())
      continue;
    const Finding &F = In.Judge.judge(R, {}, Detail::Verdict);
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
    const Finding &F = In.Judge.judge(*By, {}, Detail::Whole);
    A.Misses = F.Misses;
    A.Why = F.Why + " (" + fileOf(*By) + ")";
    Out.Accesses.push_back(std::move(A));
  }
  if (!In.O.CoverageDir.empty())
    Result.Coverage = accessCoverage(In.M, In.FAM, In.Origins, Keys); // adds names to Keys
  Keys.relateMembers(Out);
  Out.Names = Keys.takeNames();
}

} // namespace smalloc
