//===- AccessTracer.cpp - records the accesses of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/record/AccessTracer.h"
#include "passes/record/LoopVersion.h"
#include "passes/record/RecordingFilters.h"
#include "passes/record/RegionIndex.h"
#include "passes/record/TracedAccesses.h"
#include "passes/rewrite/ContextEntries.h"
#include "passes/sites/AllocationSites.h"
#include "smalloc/access.h"
#include "smalloc/site.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef TracedMetadata = "smalloc.traced";
/// Inserts the tests and calls of one function.
class Instrumenter {
public:
  Instrumenter(Function &F, RecordingCallbacks &G) : F(F), G(G), Tests(F, G) {}

  void run(TracedAccesses &Accesses) {
    for (const RecordedRun &R : Accesses.Runs)
      Runs.push_back(Tests.windowOf(R));
    std::vector<std::unique_ptr<Version>> Versions;
    DenseSet<const BasicBlock *> Silent; // blocks that record only in their versions
    if (G.hasMemory())
      Versions = makeVersions(Accesses.Loops, Silent);
    // Collect the accesses before blocks are split.
    for (const std::unique_ptr<Version> &V : Versions)
      collect(*V, Accesses);
    for (const RecordedAccess &A : Accesses.Accesses) {
      if (Silent.count(A.Before->getParent()))
        continue;
      if (A.Run)
        Tests.tellRun(Accesses.Runs[A.Run - 1], Runs[A.Run - 1], /*Every=*/false);
      else
        Tests.tell(A, isSteady(A) ? Tests.lastOf(A) : nullptr);
    }
    for (const RecordedWalk &W : Accesses.Walks)
      if (!Silent.count(W.Before->getParent()))
        Tests.tellWalk(W, Tests.ends(W));
    for (const std::unique_ptr<Version> &V : Versions)
      tell(*V);
    for (const RecordedWalk &W : Accesses.Blocks)
      Tests.tellBlock(W);
    Tests.finish();
  }

private:
  /// A copy of a loop that records everything, or the sampled accesses.
  struct Version {
    Version(Function &F, RecordedLoop &L, Value *Condition, bool Every)
        : Copy(F, L, Condition), Every(Every) {}
    LoopVersion Copy;
    bool Every;
    Value *Told = nullptr, *Regions = nullptr;
    std::vector<SmallVector<RecordingCallbacks::Together, 4>> Together; ///< only if Every
    struct Single {
      RecordedAccess Access;
      AllocaInst *Last; ///< of a steady access
      std::optional<RegionIndex> Index;
    };
    std::vector<Single> Singles; ///< if Every: the steady accesses
    std::vector<std::pair<RecordedRun, size_t>> Runs;
    std::vector<std::pair<RecordedWalk, SmallVector<AllocaInst *, 4>>> Walks;
    DenseMap<std::pair<Value *, int64_t>, Value *> Bases; ///< bytes of their regions
  };

  std::vector<std::unique_ptr<Version>> makeVersions(std::vector<RecordedLoop> &Loops,
                                                     DenseSet<const BasicBlock *> &Silent) {
    std::vector<std::unique_ptr<Version>> Versions;
    if (Loops.empty())
      return Versions;
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Value *Every = G.every(B), *Regions = nullptr, *Open = nullptr;
    if (G.hasRegions()) {
      Regions = G.regions(B);
      Open = B.CreateIsNotNull(Regions);
    }
    for (RecordedLoop &L : Loops) {
      Versions.push_back(std::make_unique<Version>(F, L, Every, /*Every=*/true));
      Version &V = *Versions.back();
      B.SetInsertPoint(V.Copy.entry()->getTerminator());
      V.Told = G.told(B);
      if (!Open)
        continue;
      Versions.push_back(std::make_unique<Version>(F, L, Open, /*Every=*/false));
      Versions.back()->Regions = Regions;
      Silent.insert(L.Blocks.begin(), L.Blocks.end());
    }
    return Versions;
  }

  /// Collects the accesses of the copy. With Every, consecutive scattered accesses of a block form
  /// one piece, which ends at an access that may not be recorded.
  void collect(Version &V, const TracedAccesses &Accesses) {
    const BasicBlock *Block = nullptr; // block of the open piece
    const auto Copied = [&V](RecordedAccess A) {
      A.Before = V.Copy.at(A.Before);
      A.Pointer = V.Copy.at(A.Pointer);
      A.Mask = V.Copy.at(A.Mask);
      return A;
    };
    for (const RecordedAccess &A : Accesses.Accesses) {
      if (!V.Copy.isCopyOf(A.Before->getParent()))
        continue;
      const RecordedAccess Copy = Copied(A);
      if (A.Run) {
        Block = nullptr;
        const RecordedRun &R = Accesses.Runs[A.Run - 1];
        RecordedRun Run{V.Copy.at(R.Counter), {}};
        for (const RecordedRun::Member &M : R.Members)
          Run.Members.push_back({Copied(M.Access), M.Bytes});
        V.Runs.push_back({std::move(Run), A.Run - 1});
        continue;
      }
      if (isSteady(A) || !V.Every) {
        Block = nullptr;
        if (isSteady(A))
          V.Singles.push_back({Copy, Tests.lastOf(A), std::nullopt});
        else
          V.Singles.push_back(
              {Copy, nullptr,
               A.Mask ? std::nullopt : regionIndex(Copy.Pointer, V.Copy, F.getDataLayout())});
        continue;
      }
      const unsigned Lanes =
          A.Mask ? cast<FixedVectorType>(A.Pointer->getType())->getNumElements() : 1;
      if (Block != A.Before->getParent() ||
          V.Together.back().size() + Lanes > SMALLOC_TOLD_BEHIND_END)
        V.Together.emplace_back();
      Block = A.Before->getParent();
      IRBuilder<> B(Copy.Before);
      for (unsigned I = 0; I < Lanes; ++I)
        V.Together.back().push_back(
            {Copy.Before, A.Mask ? B.CreateExtractElement(Copy.Pointer, I) : Copy.Pointer,
             A.Mask ? B.CreateExtractElement(Copy.Mask, I) : nullptr, A.Writes});
    }
    for (const RecordedWalk &W : Accesses.Walks)
      if (V.Copy.isCopyOf(W.Before->getParent())) {
        RecordedWalk Copy{V.Copy.at(W.Before), V.Copy.at(W.BackedgesTaken), {}};
        for (const RecordedWalk::Reference &R : W.References)
          Copy.References.push_back({V.Copy.at(R.Start), V.Copy.at(R.Stride), R.Writes});
        V.Walks.push_back({std::move(Copy), Tests.ends(W)});
      }
  }

  void tell(Version &V) {
    for (const auto &Piece : V.Together)
      G.tellTogether(V.Told, Piece);
    for (const auto &[A, Last, Index] : V.Singles) {
      if (V.Every)
        Tests.tellOtherPage(A, Last);
      else if (Index)
        Tests.tellByRegion(A, *Index, baseOf(*Index, V));
      else
        Tests.tell(A, Last);
    }
    for (const auto &[R, Number] : V.Runs)
      Tests.tellRun(R, Runs[Number], V.Every);
    for (const auto &[W, Ends] : V.Walks)
      Tests.tellWalk(W, Ends);
  }

  /// Returns the address of the byte, in the table of regions, for the base of \p At. It is
  /// computed in front of the loop. The base may be no address at all if the indices are another
  /// machine's addresses. Then the table may have no such byte, and the original loop runs.
  Value *baseOf(const RegionIndex &At, Version &V) {
    Value *&Base = V.Bases[{At.Base, At.Offset}];
    if (Base)
      return Base;
    IRBuilder<> B(V.Copy.choice());
    Value *Address = B.CreateAdd(B.CreatePtrToInt(At.Base, B.getInt64Ty()),
                                 B.getInt64(static_cast<uint64_t>(At.Offset)));
    Value *Region = B.CreateLShr(Address, SMALLOC_REGION_SHIFT);
    V.Copy.enterOnlyIf(B.CreateICmpULT(Region, B.getInt64(SMALLOC_REGION_ENTRIES)));
    B.SetInsertPoint(V.Copy.entry()->getTerminator());
    return Base = B.CreateGEP(B.getInt8Ty(), V.Regions, Region);
  }

  static bool isSteady(const RecordedAccess &A) {
    return A.Kind == RecordedAccess::How::Steady && !A.Mask;
  }

  Function &F;
  RecordingCallbacks &G;
  RecordingFilters Tests;
  std::vector<RecordingFilters::Window> Runs;
};

/// True if the plugin added \p F. A second entry (ContextEntries.h) is the program's function under
/// another name.
bool isOurs(const Function &F) {
  return F.getName().starts_with("__smalloc_v1_") && !F.hasMetadata(EntryOfMetadata);
}

bool mayTrace(const Function &F) {
  return !F.isDeclaration() && !F.hasAvailableExternallyLinkage() && !leavesAlone(F) &&
         !isOurs(F) && !F.hasFnAttribute(Attribute::NoProfile) &&
         !F.hasFnAttribute(Attribute::SkipProfile) &&
         !F.hasFnAttribute(Attribute::PresplitCoroutine);
}

/// Removes memory attributes. Functions that only read, or touch no visible memory, now write into
/// the recording.
void forgetMemoryEffects(Module &M) {
  for (Function &F : M) {
    if (!F.isDeclaration())
      F.removeFnAttr(Attribute::Memory);
    for (BasicBlock &Block : F)
      for (Instruction &I : Block)
        if (auto *Call = dyn_cast<CallBase>(&I))
          if (const Function *To = Call->getCalledFunction(); To && !To->isDeclaration())
            Call->removeFnAttr(Attribute::Memory);
  }
}

} // namespace

PreservedAnalyses AccessTracerPass::run(Module &M, ModuleAnalysisManager &AM) {
  // -ffat-lto-objects and ThinLTO back ends run this pass again on a finished module.
  if (M.getNamedMetadata(TracedMetadata) || !isServed(M) || definesAllocator(M) ||
      hasAllocTokens(M))
    return PreservedAnalyses::all();
  M.getOrInsertNamedMetadata(TracedMetadata);
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  SmallVector<Function *, 64> Functions;
  for (Function &F : M)
    if (mayTrace(F))
      Functions.push_back(&F);
  std::optional<RecordingCallbacks> G;
  for (Function *F : Functions) {
    TracedAccesses Accesses = tracedAccesses(*F, FAM);
    if (!Accesses.empty()) {
      if (!G)
        G.emplace(M, Directory);
      Instrumenter(*F, *G).run(Accesses);
    }
    FAM.invalidate(*F, PreservedAnalyses::none()); // even if only a preheader is new
  }
  if (!G)
    return PreservedAnalyses::none();
  G->announce();
  forgetMemoryEffects(M);
  return PreservedAnalyses::none();
}

} // namespace smalloc
