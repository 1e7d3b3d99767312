//===- AccessCoverage.cpp - share of accesses with a known site -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/AccessCoverage.h"
#include "passes/pointers/MemoryTouches.h"
#include "passes/sites/AllocationSites.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ProfileSummary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace smalloc {
namespace {

/// True if \p Pointer may point into the heap, as far as its underlying object and \p From show.
bool maybeHeap(const Value *Pointer, const PointerOrigins::Answer &From) {
  return !isa<AllocaInst, GlobalVariable, ConstantPointerNull, UndefValue>(
             getUnderlyingObject(Pointer)) &&
         (From.Unknown || !From.Sites.empty());
}

/// Returns for each function and variable of \p M the names that it refers to. A reader of the file
/// finds with them the functions and variables that the program needs.
json::Object references(const Module &M) {
  json::Object Out;
  for (const GlobalValue &G : M.global_values()) {
    SetVector<StringRef> Names;
    SmallVector<const Constant *, 16> Stack;
    SmallPtrSet<const Constant *, 16> Seen;
    auto Look = [&](const User &U) {
      for (const Use &Op : U.operands())
        if (auto *C = dyn_cast<Constant>(Op); C && !isa<ConstantData>(C) && Seen.insert(C).second)
          Stack.push_back(C);
    };
    Look(G); // initializer, aliasee, personality
    if (auto *F = dyn_cast<Function>(&G))
      for (const Instruction &I : instructions(F))
        Look(I);
    while (!Stack.empty()) {
      const Constant *C = Stack.pop_back_val();
      if (isa<GlobalValue>(C))
        Names.insert(C->getName());
      else
        Look(*C);
    }
    if (!Names.empty())
      Out[G.getName()] = json::Array(Names.getArrayRef());
  }
  return Out;
}

/// Returns the largest count of the profile of \p M. The frequencies of a function that was changed
/// after the profile's use may give a block a larger one, which is wrong.
uint64_t mostRuns(const Module &M) {
  Metadata *Recorded = M.getProfileSummary(/*IsCS=*/false);
  const std::unique_ptr<ProfileSummary> Summary(Recorded ? ProfileSummary::getFromMD(Recorded)
                                                         : nullptr);
  return Summary ? Summary->getMaxCount() : UINT64_MAX;
}

/// Returns the names of \p M that have local linkage: no other unit can refer to them.
json::Array localNames(const Module &M) {
  json::Array Out;
  for (const GlobalValue &G : M.global_values())
    if (G.hasLocalLinkage() && !G.getName().empty())
      Out.push_back(G.getName());
  return Out;
}

} // namespace

AccessCoverage accessCoverage(Module &M, FunctionAnalysisManager &FAM,
                              const PointerOrigins &Origins, KeyNames &Keys) {
  AccessCoverage Out;
  const uint64_t MostRuns = mostRuns(M);
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
        Here.Runs = std::min(Profile->getBlockProfileCount(&Block).value_or(0), MostRuns);
      Here.LoopRuns = Here.InLoops ? Here.Runs : 0;
      if (!Here.InLoops && !Here.Runs)
        continue;
      for (Instruction &I : Block)
        for (const Touch &T : touchesOf(I)) {
          PointerOrigins::Answer From = Origins.originsOf(T.Pointer);
          if (!maybeHeap(T.Pointer, From))
            continue;
          if (!From.Sites.empty()) {
            Out.Attributed[F.getName().str()] += Here;
            continue;
          }
          AccessCoverage::Places Places;
          for (KeyRoot R : Keys.rootsOf(T.Pointer))
            Places.push_back({R.Key, R.Contents});
          llvm::sort(Places);
          std::string Name = F.getName().str();
          (Places.empty() ? Out.Unnamed[Name] : Out.Named[{Name, std::move(Places)}]) += Here;
        }
    }
  }
  Out.Elsewhere = Keys.keysOfElsewhere();
  return Out;
}

/// Returns \p Counts by function, and adds them to \p Sum.
static json::Object byFunction(const std::map<std::string, AccessCount> &Counts, AccessCount &Sum) {
  json::Object Out;
  for (const auto &[Function, Count] : Counts) {
    Out[Function] = json::Object{
        {"accesses", Count.InLoops}, {"runs", Count.Runs}, {"loop_runs", Count.LoopRuns}};
    Sum += Count;
  }
  return Out;
}

static std::string hex(uint64_t Key) { return utohexstr(Key, /*LowerCase=*/true, /*Width=*/16); }

/// Returns the accesses of places that other units may know, and adds their counts to \p Sum.
static json::Array namedAccesses(const UnitDecisions &Verdicts, AccessCount &Sum) {
  json::Array Named;
  for (const auto &[Where, Count] : Verdicts.Coverage.Named) {
    json::Array Keys;
    for (const auto &[Key, Contents] : Where.second)
      Keys.push_back(json::Array{hex(Key), Contents, Verdicts.Summary.Names.lookup(Key)});
    Named.push_back(json::Object{{"places", std::move(Keys)},
                                 {"function", Where.first},
                                 {"accesses", Count.InLoops},
                                 {"runs", Count.Runs},
                                 {"loop_runs", Count.LoopRuns}});
    Sum += Count;
  }
  return Named;
}

Error writeCoverageJson(const Module &M, const UnitDecisions &Verdicts, StringRef Directory) {
  json::Array Flows, Sites, Elsewhere;
  const AccessCoverage &C = Verdicts.Coverage;
  AccessCount All, Attributed, Unnamed;
  json::Object AttributedIn = byFunction(C.Attributed, Attributed),
               UnnamedIn = byFunction(C.Unnamed, Unnamed);
  json::Array Named = namedAccesses(Verdicts, All);
  All += Attributed;
  All += Unnamed;
  for (uint64_t Key : C.Elsewhere)
    Elsewhere.push_back(hex(Key));
  for (const KeyedSummary::Flow &F : Verdicts.Summary.Flows)
    Flows.push_back(json::Array{hex(F.From), hex(F.To), F.Flags});
  for (const SiteDecision &V : Verdicts.Sites)
    if (V.steerable())
      Sites.push_back(hex(V.Node));
  for (const auto &[Call, Node] : Verdicts.Kept)
    Sites.push_back(hex(Node));
  llvm::sort(Sites, [](const json::Value &A, const json::Value &B) {
    return *A.getAsString() < *B.getAsString();
  });
  json::Object Top{{"schema", "smalloc.coverage/1"},
                   {"unit", M.getSourceFileName()},
                   {"accesses", All.InLoops},
                   {"attributed", Attributed.InLoops},
                   {"attributed_in", std::move(AttributedIn)},
                   {"unnamed", Unnamed.InLoops},
                   {"unnamed_in", std::move(UnnamedIn)},
                   {"runs", json::Object{{"accesses", All.Runs},
                                         {"attributed", Attributed.Runs},
                                         {"unnamed", Unnamed.Runs}}},
                   {"origins_gave_up", Verdicts.OriginsGaveUp},
                   {"named", std::move(Named)},
                   {"refers", references(M)},
                   {"local", localNames(M)},
                   {"elsewhere", std::move(Elsewhere)},
                   {"flows", std::move(Flows)},
                   {"sites", std::move(Sites)}};
  // The name holds a hash of the folder and the text. So units of the same name in different
  // folders, and successive links, do not overwrite each other's files.
  SmallString<256> Here, Path(Directory);
  if (std::error_code Failed = sys::fs::current_path(Here))
    return createStringError(Failed, "the current directory");
  std::string Text = formatv("{0:2}", json::Value(std::move(Top))).str();
  sys::path::append(Path, sys::path::filename(M.getSourceFileName()) + "." +
                              hex(xxh3_64bits((Here + "\n" + Text).str())) + ".json");
  return writeToOutput(Path, [&](raw_ostream &OS) {
    OS << Text << '\n';
    return Error::success();
  });
}

} // namespace smalloc
