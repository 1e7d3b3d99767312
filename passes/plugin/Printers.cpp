//===- Printers.cpp - prints what the plugin finds ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/plugin/Printers.h"
#include "passes/decisions/SiteText.h"
#include "passes/decisions/UnitAnalysis.h"
#include "passes/sites/SiteNumbering.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace smalloc {

PreservedAnalyses SmallocPrinterPass::run(Module &M, ModuleAnalysisManager &AM) {
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  O.Machine.settleFor(M);
  AllocationSitesPass(O.Root, AllocationSitesPass::When::Later).run(M, AM);
  UnitDecisions Verdicts = decideUnit(M, FAM, O);
  for (const SiteDecision &V : Verdicts.Sites) {
    errs() << siteText(V) << ": " << decisionName(V.Decision) << " " << patternName(V.Pattern);
    if (V.SpreadPages != SMALLOC_UNKNOWN)
      errs() << " spread=" << V.SpreadPages;
    if (V.MissesPerAccess >= 0)
      errs() << formatv(" misses={0:f3} saving={1:f1}", V.MissesPerAccess, V.SavingCycles);
    if (V.MinBytes != SMALLOC_UNKNOWN)
      errs() << " min=" << V.MinBytes;
    if (V.FaultsSaved != SMALLOC_UNKNOWN)
      errs() << " first-touch=" << V.FaultsSaved;
    const std::pair<unsigned, const char *> Names[] = {
        {SMALLOC_SITE_REWRITTEN, " rewritten"}, {SMALLOC_SITE_FULLY_INITIALISED, " initialised"},
        {SMALLOC_SITE_SMALL, " many"},          {SMALLOC_SITE_ESCAPES, " escapes"},
        {SMALLOC_SITE_UNDECIDED, " undecided"}, {SMALLOC_SITE_PARTITIONED, " partitioned"}};
    for (const auto &[Flag, Name] : Names)
      if (V.Flags & Flag)
        errs() << Name;
    errs() << " | " << V.Why << "\n";
  }
  for (const ProfitableNest &N : Verdicts.Nests)
    errs() << "profitable nest in '" << N.F->getName() << "': " << motionText(N.Reference) << "\n";
  return PreservedAnalyses::all();
}

PreservedAnalyses OriginsPrinterPass::run(Module &M, ModuleAnalysisManager &AM) {
  FunctionAnalysisManager &FAM = AM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  AllocationWrappers Wrappers(M, FAM);
  const PointerOrigins Origins(
      M,
      [&](Function &F) -> const TargetLibraryInfo & {
        return FAM.getResult<TargetLibraryAnalysis>(F);
      },
      Wrappers);
  const PointerOrigins::Effort E = Origins.effort();
  errs() << (Origins.gaveUp()   ? "unknown"
             : Origins.coarse() ? "by name"
                                : "exact")
         << ": nodes=" << E.Nodes << " edges=" << E.Edges << " words=" << E.Words
         << " steps=" << E.Steps << "\n";
  return PreservedAnalyses::all();
}

} // namespace smalloc
