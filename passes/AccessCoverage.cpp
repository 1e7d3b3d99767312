//===- AccessCoverage.cpp - how many accesses reach a site ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AccessCoverage.h"
#include "AllocationSites.h"
#include "MemoryTouches.h"
#include "Verdict.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace smalloc {
namespace {

/// Can \p Pointer point into the heap, as far as one sees?
bool maybeHeap(const Value *Pointer, const PointerOrigins::Answer &From) {
  return !isa<AllocaInst, GlobalVariable, ConstantPointerNull, UndefValue>(
             getUnderlyingObject(Pointer)) &&
         (From.Unknown || !From.Sites.empty());
}

} // namespace

AccessCoverage accessCoverage(Module &M, FunctionAnalysisManager &FAM,
                              const PointerOrigins &Origins, KeyNames &Keys) {
  AccessCoverage Out;
  for (Function &F : M) {
    if (leavesAlone(F))
      continue;
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    const BlockFrequencyInfo *Profile =
        F.hasProfileData() ? &FAM.getResult<BlockFrequencyAnalysis>(F) : nullptr;
    for (BasicBlock &Block : F) {
      AccessCount Here;
      Here.InLoops = LI.getLoopFor(&Block) != nullptr;
      if (Profile)
        Here.Runs = Profile->getBlockProfileCount(&Block).value_or(0);
      if (!Here.InLoops && !Here.Runs)
        continue;
      for (Instruction &I : Block)
        for (const Touch &T : touchesOf(I)) {
          PointerOrigins::Answer From = Origins.originsOf(T.Pointer);
          if (!maybeHeap(T.Pointer, From))
            continue;
          if (!From.Sites.empty()) {
            Out.Attributed += Here;
            continue;
          }
          std::vector<std::pair<uint64_t, bool>> Places;
          for (KeyRoot R : Keys.rootsOf(T.Pointer))
            Places.push_back({R.Key, R.Contents});
          llvm::sort(Places);
          (Places.empty() ? Out.Unnamed : Out.Named[std::move(Places)]) += Here;
        }
    }
  }
  Out.Elsewhere = Keys.argumentsFromElsewhere();
  return Out;
}

Error writeCoverageJson(const Module &M, const UnitVerdicts &Verdicts, StringRef Directory) {
  auto Hex = [](uint64_t Key) { return utohexstr(Key, /*LowerCase=*/true, /*Width=*/16); };
  json::Array Named, Flows, Sites, Elsewhere;
  const AccessCoverage &C = Verdicts.Coverage;
  AccessCount All = C.Attributed;
  All += C.Unnamed;
  for (const auto &[Places, Count] : C.Named) {
    json::Array Keys;
    for (const auto &[Key, Contents] : Places)
      Keys.push_back(json::Array{Hex(Key), Contents});
    Named.push_back(json::Object{
        {"places", std::move(Keys)}, {"accesses", Count.InLoops}, {"runs", Count.Runs}});
    All += Count;
  }
  for (uint64_t Key : C.Elsewhere)
    Elsewhere.push_back(Hex(Key));
  for (const KeyedSummary::Flow &F : Verdicts.Summary.Flows)
    Flows.push_back(json::Array{Hex(F.From), Hex(F.To), F.Flags});
  for (const SiteVerdict &V : Verdicts.Sites)
    if (V.steerable())
      Sites.push_back(Hex(V.Node));
  json::Object Top{{"schema", "smalloc.coverage/1"},
                   {"unit", M.getSourceFileName()},
                   {"accesses", All.InLoops},
                   {"attributed", C.Attributed.InLoops},
                   {"unnamed", C.Unnamed.InLoops},
                   {"runs", json::Object{{"accesses", All.Runs},
                                         {"attributed", C.Attributed.Runs},
                                         {"unnamed", C.Unnamed.Runs}}},
                   {"origins_gave_up", Verdicts.OriginsGaveUp},
                   {"named", std::move(Named)},
                   {"elsewhere", std::move(Elsewhere)},
                   {"flows", std::move(Flows)},
                   {"sites", std::move(Sites)}};
  // Units of one name in different folders, and links one after the other, must not overwrite each other.
  SmallString<256> Here, Path(Directory);
  if (std::error_code Failed = sys::fs::current_path(Here))
    return createStringError(Failed, "the current directory");
  std::string Text = formatv("{0:2}", json::Value(std::move(Top))).str();
  sys::path::append(Path, sys::path::filename(M.getSourceFileName()) + "." +
                              Hex(xxh3_64bits((Here + "\n" + Text).str())) + ".json");
  return writeToOutput(Path, [&](raw_ostream &OS) {
    OS << Text << '\n';
    return Error::success();
  });
}

} // namespace smalloc
