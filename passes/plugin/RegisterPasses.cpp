//===- RegisterPasses.cpp - smalloc's places in the pipeline --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/plugin/RegisterPasses.h"
#include "passes/decisions/AccessCoverage.h"
#include "passes/decisions/Remarks.h"
#include "passes/decisions/StaticArrays.h"
#include "passes/decisions/UnitAnalysis.h"
#include "passes/decisions/UnitSites.h"
#include "passes/ir/LlvmVersions.h"
#include "passes/ir/UnitName.h"
#include "passes/plugin/OwnLocations.h"
#include "passes/plugin/Printers.h"
#include "passes/points/FillPoints.h"
#include "passes/points/PromotionGuards.h"
#include "passes/points/PromotionPoints.h"
#include "passes/record/AccessTracer.h"
#include "passes/rewrite/LayoutPadding.h"
#include "passes/rewrite/LinkOptions.h"
#include "passes/rewrite/LinkPhase.h"
#include "passes/rewrite/SiteRewriter.h"
#include "passes/rewrite/SiteTable.h"
#include "passes/rewrite/ThunkParts.h"
#include "passes/rewrite/ThunkText.h"
#include "passes/sites/AllocationSites.h"
#include "passes/sites/SiteNumbering.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace llvm;

namespace smalloc {
namespace {

constexpr StringRef DoneMetadata = "smalloc.done";

/// Maps each function that the rewriting changes to its number of blocks before. These functions
/// have steerable sites, promotion points or fill points.
using ChangedFunctions = SmallMapVector<Function *, size_t, 16>;
/// Returns the functions with steerable sites; those with points are added when they get one.
ChangedFunctions changedFunctions(const UnitDecisions &Verdicts) {
  ChangedFunctions Changed;
  for (const SiteDecision &V : Verdicts.Sites)
    if (V.steerable())
      Changed[V.Call->getFunction()] = V.Call->getFunction()->size();
  return Changed;
}

/// Keeps all analyses of unchanged functions, which later passes would have to compute again. In a
/// changed function, calls and the values that they take are new. The only added blocks are
/// preheaders (Preheaders.h). Dominators and loops are updated for them, and scalar evolution stays
/// valid (LoopSimplify preserves these, too). Other analyses that depend on blocks are discarded.
PreservedAnalyses allBut(const ChangedFunctions &Changed, FunctionAnalysisManager &FAM) {
  PreservedAnalyses Calls;
  Calls.preserve<DominatorTreeAnalysis>();
  Calls.preserve<LoopAnalysis>();
  Calls.preserve<ScalarEvolutionAnalysis>();
  Calls.preserve<AssumptionAnalysis>();
  // New code is simple already: passes that found nothing to do in the function need not run again.
  preserveLastRuns(Calls);
  Calls.preserve<TargetIRAnalysis>();
  Calls.preserve<TargetLibraryAnalysis>();
  PreservedAnalyses CallsAlone = Calls;
  CallsAlone.preserveSet<CFGAnalyses>();
  for (auto [F, Blocks] : Changed)
    FAM.invalidate(*F, F->size() == Blocks ? CallsAlone : Calls);
  PreservedAnalyses Preserved;
  Preserved.preserve<FunctionAnalysisManagerModuleProxy>();
  Preserved.preserveSet<AllAnalysesOn<Function>>();
  return Preserved;
}

/// Returns free memory of the heap to the kernel after a large unit. Freed pieces lie between live
/// ones, and code generation, where the compiler holds most, requests pieces of other sizes.
void giveBackMemory([[maybe_unused]] const Module &M) {
#ifdef __GLIBC__
  if (isLargeUnit(M))
    malloc_trim(0);
#endif
}

void writeCoverage(Module &M, const UnitDecisions &Verdicts, const std::string &Directory) {
  if (Directory.empty())
    return;
  if (Error E = writeCoverageJson(M, Verdicts, Directory))
    M.getContext().diagnose(
        PluginWarning("smalloc: cannot write the coverage: " + toString(std::move(E))));
}

} // namespace

/// True if the plugin must not change \p M, which a remark then says.
static bool isLeftAlone(Module &M, FunctionAnalysisManager &FAM) {
  std::string Defined;
  if (definesAllocator(M, &Defined)) {
    emitLeftAloneRemark(M, "OwnAllocator", "this unit defines " + Defined, FAM);
    return true;
  }
  if (hasAllocTokens(M)) {
    emitLeftAloneRemark(M, "AllocTokens", "its allocation calls carry tokens", FAM);
    return true;
  }
  return false;
}

static void emitNoBuiltinsRemark(Module &M, FunctionAnalysisManager &FAM) {
  if (const unsigned Calls = callsWithoutBuiltins(M))
    emitLeftAloneRemark(M, "NoBuiltins",
                        std::to_string(Calls) +
                            (Calls == 1 ? " call of a function with the name of an allocation "
                                          "function, which may be another function"
                                        : " calls of functions with the names of allocation "
                                          "functions, which may be other functions") +
                            " without a C library (-ffreestanding)",
                        FAM);
}

PreservedAnalyses SmallocPass::run(Module &M, ModuleAnalysisManager &AM) {
  // -ffat-lto-objects and ThinLTO back ends run the pipeline a second time over a finished module.
  if (M.getNamedMetadata(DoneMetadata) || !isServed(M))
    return PreservedAnalyses::all();
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  if (isLeftAlone(M, FAM))
    return PreservedAnalyses::all();
  M.getOrInsertNamedMetadata(DoneMetadata);
  emitNoBuiltinsRemark(M, FAM);
  if (O.StraightToObject)
    addAsText(M);
  O.Machine.settleFor(M);
  const bool Again =
      ForLink && O.GenerateDir.empty(); // an instrumented build stays as its units were compiled
  if (Again)
    recordOptions(M, O);
  AllocationSitesPass(O.Root, AllocationSitesPass::When::Later).run(M, AM);
  UnitDecisions Verdicts = decideUnit(M, FAM, O);
  emitRemarks(Verdicts.Sites, O, FAM);
  emitRemarks(Verdicts.Statics, O, FAM);
  if (O.Use)
    emitProfileRemarks(M, Verdicts.Sites, O, FAM);
  if (!O.SitesDir.empty())
    if (Error E = writeSitesJson(M, Verdicts.Sites, O))
      M.getContext().diagnose(
          PluginWarning("smalloc: cannot write the site table: " + toString(std::move(E))));
  writeCoverage(M, Verdicts, O.CoverageDir);
  if (Again)
    keepStaticIds(Verdicts.Statics);
  ChangedFunctions Changed = changedFunctions(Verdicts);
  insertPromotionPoints(Verdicts.Nests, FAM,
                        [&](Function &F) { Changed.try_emplace(&F, F.size()); });
  if (O.GenerateDir.empty()) // record only the accesses of the program itself
    insertFillPoints(Verdicts.Fills, FAM, [&](Function &F) { Changed.try_emplace(&F, F.size()); });
  // A link decides each site's cell again, and an instrumented build calls the runtime at all
  // sites: neither tests sizes.
  rewriteSites(M, Verdicts, O,
               ForLink || !O.GenerateDir.empty() ? SiteTests() : insertSizeTests(Verdicts, FAM));
  compileAsUnit(M);
  // Debug information was made only for the lines of sites and loops. The rest of the pipeline need
  // not maintain it.
  if (O.OwnLocations && !ForLink)
    StripDebugInfo(M);
  PreservedAnalyses Preserved = allBut(Changed, FAM);
  giveBackMemory(M);
  return Preserved;
}

PreservedAnalyses SmallocLinkPass::run(Module &M, ModuleAnalysisManager &AM) {
  if (!M.getNamedMetadata(DoneMetadata) || !isServed(M) || definesAllocator(M) || hasAllocTokens(M))
    return PreservedAnalyses::all();
  std::optional<Options> Recorded = recordedOptions(M);
  if (!Recorded)
    return PreservedAnalyses::all();
  Options O = std::move(*Recorded);
  O.Machine.settleFor(M);
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  FormerSites Former(M, FAM);
  O.Units = Former.units();
  O.CoverageDir = CoverageDir;
  UnitDecisions Verdicts = decideUnit(M, FAM, O, Former.kept());
  writeCoverage(M, Verdicts, O.CoverageDir);
  Former.settle(Verdicts);
  emitRemarks(Verdicts.Sites, O, FAM);
  emitRemarks(Verdicts.Statics, O, FAM);
  insertPromotionPoints(Verdicts.Nests, FAM, [](Function &) {});
  SiteCells Cells;
  rewriteSites(M, Verdicts, O, insertSizeTests(Verdicts, FAM), &Cells);
  compileAsUnit(M);
  Former.finish(Cells);
  return PreservedAnalyses::none();
}

/// Adds the passes at the start of the pipeline, before any inlining.
static void addAtStart(ModulePassManager &MPM, OptimizationLevel Level, const Options &O) {
  if (Level == OptimizationLevel::O0) {
    // Not a diagnostic of the compiler: -Werror would stop a build that is merely useless.
    if (!O.GenerateDir.empty())
      errs() << "smalloc: warning: profile-generate without optimisation (-O0): no access of this "
                "unit will be recorded; compile it with -O1 or more\n";
    return;
  }
  if (!O.UnitName.empty())
    MPM.addPass(UnitNamePass(O.UnitName));
  // Site tables and traces need the location of each access.
  if (O.OwnLocations && O.SitesDir.empty() && O.GenerateDir.empty())
    MPM.addPass(OwnLocationsPass(O.StraightToObject));
  if (O.Layout)
    MPM.addPass(LayoutPaddingPass());
  MPM.addPass(AllocationSitesPass(O.Root, AllocationSitesPass::When::PipelineStart, O.Hosted));
}

/// Adds the pass that opt knows as \p Name; false if there is none.
static bool addByName(ModulePassManager &MPM, StringRef Name, const Options &O) {
  if (Name == "smalloc-sites")
    MPM.addPass(AllocationSitesPass(O.Root, AllocationSitesPass::When::PipelineStart));
  else if (Name == "smalloc")
    MPM.addPass(SmallocPass(O));
  else if (Name == "smalloc<link>") // the compile phase before a link
    MPM.addPass(SmallocPass(O, /*ForLink=*/true));
  else if (Name == "smalloc-link")
    MPM.addPass(SmallocLinkPass(O.CoverageDir));
  else if (Name == "smalloc-guards")
    MPM.addPass(PromotionGuardsPass());
  else if (Name == "print<smalloc>")
    MPM.addPass(SmallocPrinterPass(O));
  else if (Name == "print<smalloc-origins>")
    MPM.addPass(OriginsPrinterPass());
  else if (Name == "smalloc-accesses")
    MPM.addPass(AccessTracerPass(O.GenerateDir.empty() ? "." : O.GenerateDir));
  else
    return false;
  return true;
}

/// Registers the passes of a link with LTO. They run before the link inlines anything: thunks are
/// calls, and each site of the compile phase still exists.
static void registerLink(PassBuilder &PB, ExtensionPoints &Points, const std::string &CoverageDir) {
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [CoverageDir](ModulePassManager &MPM, OptimizationLevel Level) {
        if (Level != OptimizationLevel::O0)
          MPM.addPass(SmallocLinkPass(CoverageDir));
      });
  Points.earlySimplification(
      [CoverageDir](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase Phase) {
        if (Level != OptimizationLevel::O0 && Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
          MPM.addPass(SmallocLinkPass(CoverageDir));
      });
}

void registerPasses(PassBuilder &PB, const Options &Base) {
  Expected<Options> Complete = withCommandLine(Base);
  if (!Complete) {
    // No diagnostics engine is available here (opt, flang, lld): print the error and stop the tool,
    // as for any bad option.
    errs() << "smalloc: error: " << toString(Complete.takeError()) << "\n";
    std::exit(1);
  }
  Options O = std::move(*Complete);
  for (const std::string &Warning : O.Warnings)
    errs() << "smalloc: warning: " << Warning << "\n";
  ExtensionPoints Points(PB);
  PB.registerPipelineStartEPCallback(
      [O](ModulePassManager &MPM, OptimizationLevel Level) { addAtStart(MPM, Level, O); });
  Points.optimizerEarly(
      [O](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase Phase) {
        if (Level != OptimizationLevel::O0)
          MPM.addPass(SmallocPass(O, Phase == ThinOrFullLTOPhase::ThinLTOPreLink ||
                                         Phase == ThinOrFullLTOPhase::FullLTOPreLink));
      });
  registerLink(PB, Points, O.CoverageDir);
  if (!O.GenerateDir.empty())
    Points.optimizerLast([O](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase) {
      if (Level != OptimizationLevel::O0)
        MPM.addPass(AccessTracerPass(O.GenerateDir));
    });
  // A unit for the link keeps its calls: the link's phase inserts no second call where one exists.
  Points.optimizerLast([](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase Phase) {
    if (Phase != ThinOrFullLTOPhase::ThinLTOPreLink && Phase != ThinOrFullLTOPhase::FullLTOPreLink)
      MPM.addPass(PromotionGuardsPass());
  });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel) { MPM.addPass(PromotionGuardsPass()); });
  PB.registerPipelineParsingCallback(
      [O](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        return addByName(MPM, Name, O);
      });
}

} // namespace smalloc
