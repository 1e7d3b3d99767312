//===- Remarks.cpp - optimization remarks about sites ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/Remarks.h"
#include "passes/decisions/SiteText.h"
#include "passes/ir/UnitName.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using ore::NV;

namespace smalloc {
namespace {

constexpr const char *PassName = "smalloc";

std::string first(const SiteDecision &V) {
  std::string Text;
  if (V.Flags & SMALLOC_SITE_FULLY_INITIALISED)
    Text = ", at the first touch since every byte is written";
  return Text;
}

} // namespace

void emitRemarks(ArrayRef<SiteDecision> Sites, const Options &O, FunctionAnalysisManager &FAM) {
  for (const SiteDecision &V : Sites) {
    const Instruction *At = V.Variable ? V.Access : V.Call;
    if (V.Guessed ||
        !At) // most guessed calls are no allocations; `smalloc sites` knows them after linking
      continue;
    OptimizationRemarkEmitter &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(
        *const_cast<Function *>(At->getFunction()));
    const DiagnosticLocation Where(DebugLoc(userLocation(*At)));
    const BasicBlock *Block = At->getParent();
    const bool Undecided = V.Flags & SMALLOC_SITE_UNDECIDED;
    if (V.Decision == SMALLOC_DECISION_SUPERPAGE)
      ORE.emit([&] {
        return OptimizationRemark(PassName, "Superpages", Where, Block)
               << "superpages" << first(V) << ": " << NV("Site", siteText(V)) << ": "
               << NV("Why", V.Why);
      });
    else if (V.Decision == SMALLOC_DECISION_RUNTIME && !Undecided)
      ORE.emit([&] {
        return OptimizationRemark(PassName, "SuperpagesAtRunTime", Where, Block)
               << (V.PageShift == MediumShift ? "64 KiB pages from " : "superpages from ")
               << NV("MinSize", bytesText(V.MinBytes))
               << (V.Flags & SMALLOC_SITE_SMALL ? " of live objects on" : " on") << first(V) << ": "
               << NV("Site", siteText(V)) << ": " << NV("Why", V.Why);
      });
    else
      ORE.emit([&] {
        return OptimizationRemarkMissed(PassName, Undecided ? "Undecided" : "BasePages", Where,
                                        Block)
               << (Undecided ? "undecided: " : "base pages: ") << NV("Site", siteText(V)) << ": "
               << NV("Why", V.Why);
      });
    ORE.emit([&] {
      OptimizationRemarkAnalysis R(PassName, "Spread", Where, Block);
      R << NV("Site", siteText(V)) << ": spread "
        << NV("Spread", V.SpreadPages != SMALLOC_UNKNOWN
                            ? pagesText(static_cast<double>(V.SpreadPages))
                        : V.SpreadText.empty() ? std::string("unknown")
                                               : V.SpreadText + " pages")
        << ", reach " << NV("Reach", O.Machine.ReachPages) << " pages of "
        << NV("Machine", O.Machine.Name);
      if (V.MissesPerAccess >= 0)
        R << ", " << NV("Misses", missesText(V.MissesPerAccess)) << ", translation saving "
          << NV("Saving", std::to_string(static_cast<long>(V.SavingCycles + 0.5)))
          << " cycles an access";
      if (V.FaultsSaved != SMALLOC_UNKNOWN)
        R << ", first touch " << NV("FaultsSaved", V.FaultsSaved) << " faults fewer";
      R << ", confidence " << NV("Confidence", V.Confidence) << " %";
      return R;
    });
  }
}

void emitProfileRemarks(Module &M, ArrayRef<SiteDecision> Sites, const Options &O,
                        FunctionAnalysisManager &FAM) {
  const auto First = find_if(M, [](const Function &F) { return !F.isDeclaration(); });
  if (First == M.end())
    return;
  OptimizationRemarkEmitter &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(*First);
  for (const std::string &Text : O.Use->complaints(O.Machine.Name))
    ORE.emit([&] {
      return OptimizationRemarkMissed(PassName, "Profile", First->getSubprogram(),
                                      &First->getEntryBlock())
             << "profile: " << NV("Text", Text);
    });
  for (const std::string &Text : O.Use->stale(unitName(M), [&](uint64_t Id) {
         return any_of(Sites, [&](const SiteDecision &V) { return V.Id == Id; });
       }))
    ORE.emit([&] {
      return OptimizationRemarkMissed(PassName, "StaleProfile", First->getSubprogram(),
                                      &First->getEntryBlock())
             << "profile: " << NV("Text", Text);
    });
}

void emitLeftAloneRemark(Module &M, StringRef Name, StringRef Why, FunctionAnalysisManager &FAM) {
  const auto First = find_if(M, [](const Function &F) { return !F.isDeclaration(); });
  if (First == M.end())
    return;
  FAM.getResult<OptimizationRemarkEmitterAnalysis>(*First).emit([&] {
    return OptimizationRemarkMissed(PassName, Name, First->getSubprogram(), &First->getEntryBlock())
           << "sites left alone: " << NV("Why", Why);
  });
}

} // namespace smalloc
