//===- DirectiveUse.cpp - applies the directives of a profile -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/decisions/DirectiveUse.h"

using namespace llvm;

namespace smalloc {

void obeyDirectives(std::vector<SiteDecision> &Sites, const Options &O) {
  if (!O.Use || O.Heap == SMALLOC_HEAP_OFF)
    return;
  for (SiteDecision &V : Sites) {
    const Directive *D = O.Use->find(V.Id, V.Context);
    if (!D)
      continue;
    V.DecidedBy = SMALLOC_BY_PROFILE;
    V.Flags &= ~SMALLOC_SITE_UNDECIDED;
    const std::string Benefit = (D->Pmb.empty() ? "?" : D->Pmb) + " % of the benefit";
    V.Why = (D->Rank == "0" ? "the profile does not choose it (" + Benefit
                            : "the profile decides this site (rank " +
                                  (D->Rank.empty() ? "?" : D->Rank) + ", " + Benefit) +
            "); without the profile: " + V.Why;
    const std::string GivenUp = O.Use->givenUp(*D);
    if (!GivenUp.empty())
      V.Why = "given up: " + GivenUp + "; " + V.Why;
    if (D->PageShift == BaseShift || !GivenUp.empty()) {
      V.Decision = SMALLOC_DECISION_BASE;
      V.MinBytes = SMALLOC_UNKNOWN;
      continue;
    }
    V.Flags |= SMALLOC_SITE_REWRITTEN;
    V.Worth = D->worth();
    V.PageShift = D->PageShift;
    if (D->PageShift == MediumShift) { // no heap of small objects has medium pages
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
