//===- DirectiveUse.cpp - applies the directives of a profile -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/DirectiveUse.h"
#include "smalloc/directive.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdio>

using namespace llvm;

namespace smalloc {

/// Returns the PMB without zeros at its end. Not by llvm::format: its virtual functions would have
/// to be found when the plugin is loaded, so that it could not say that the host is another LLVM.
static std::string pmbText(const Directive &D) {
  char Text[32] = "?";
  if (D.has_pmb)
    std::snprintf(Text, sizeof Text, "%g", static_cast<double>(D.pmb_thousandths) / 1000);
  return Text;
}

void obeyDirectives(std::vector<SiteDecision> &Sites, const Options &O) {
  if (!O.Use || O.Heap == SMALLOC_HEAP_OFF)
    return;
  for (SiteDecision &V : Sites) {
    const Directive *D = O.Use->find(V.Id, V.Context);
    if (!D)
      continue;
    V.DecidedBy = SMALLOC_BY_PROFILE;
    V.Flags &= ~SMALLOC_SITE_UNDECIDED;
    const std::string Benefit = pmbText(*D) + " % of the benefit";
    V.Why =
        (D->has_rank && D->rank == 0 ? "the profile does not choose it (" + Benefit
                                     : "the profile decides this site (rank " +
                                           (D->has_rank ? utostr(D->rank) : "?") + ", " + Benefit) +
        "); without the profile: " + V.Why;
    const std::string GivenUp = O.Use->givenUp(*D);
    if (!GivenUp.empty())
      V.Why = "given up: " + GivenUp + "; " + V.Why;
    if (D->page_shift == BaseShift || !GivenUp.empty()) {
      V.Decision = SMALLOC_DECISION_BASE;
      V.MinBytes = SMALLOC_UNKNOWN;
      continue;
    }
    V.Flags |= SMALLOC_SITE_REWRITTEN;
    V.Worth = smalloc_directive_worth(D->has_pmb, D->pmb_thousandths, D->superpages);
    V.PageShift = D->page_shift;
    if (D->page_shift == MediumShift) { // no heap of small objects has medium pages
      V.Decision = SMALLOC_DECISION_RUNTIME;
      V.MinBytes = uint64_t(1) << SuperpageShift;
      V.Flags &= ~SMALLOC_SITE_SMALL;
      continue;
    }
    V.Decision = SMALLOC_DECISION_SUPERPAGE;
    V.MinBytes = 0;
    if (V.Flags & SMALLOC_SITE_MANY)
      V.Flags |= SMALLOC_SITE_SMALL;
  }
}

} // namespace smalloc
