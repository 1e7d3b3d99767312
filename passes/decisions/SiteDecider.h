//===- SiteDecider.h - decides one allocation site ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses for one site between superpages, base pages, and a choice at run time. The reference that
// gains most from superpages gives the reason. A fully written object gains by its page faults.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEDECIDER_H
#define SMALLOC_PASSES_SITEDECIDER_H

#include "passes/decisions/UnitSites.h"

namespace smalloc {

class SiteDecider {
public:
  explicit SiteDecider(const UnitInputs &In) : In(In), O(In.O) {}
  /// Sets the decision of \p V, its reason and its numbers.
  void decide(SiteDecision &V);

private:
  /// The facts that a decision depends on besides the references.
  struct Facts {
    bool Many;      ///< the unit shows that the site allocates many small objects
    bool MaybeMany; ///< other units may make it do so
    bool Escapes;   ///< other units may get its pointer
    bool Context;   ///< only a context's cell can be steered by a later join
    bool CanBeBig;  ///< its objects, or all of them together, may fill a superpage
    bool Written;   ///< fully written objects: a superpage costs no memory and saves page faults
  };
  /// A walk whose sizes may be tested, and whether it pays at any size.
  using Sizeable = std::pair<const LoopReference *, bool>;
  /// The findings for the references that reach a site.
  struct Findings {
    Finding Best;
    uint64_t Earliest = SMALLOC_UNKNOWN; ///< least size of any that pays: one suffices
    std::vector<Sizeable> Walks;
    std::string SizesText; ///< the sizes that the allocation tests; empty: none
  };
  Facts factsOf(SiteDecision &V) const;
  void judgeReferences(SiteDecision &V, const Facts &Is, Findings &Found);
  void addTests(SiteDecision &V, Findings &Found);
  const LoopReference *testSizes(SiteDecision &V, llvm::ArrayRef<Sizeable> Walks,
                                 std::string &Text);
  void describe(SiteDecision &V, const Finding &Best) const;
  void choose(SiteDecision &V, const Facts &Is, const Findings &Found) const;
  void choosePaying(SiteDecision &V, const Facts &Is, const Findings &Found) const;
  void chooseWritten(SiteDecision &V) const;
  void chooseUndecided(SiteDecision &V, const Facts &Is) const;

  const UnitInputs &In;
  const Options &O;
};

} // namespace smalloc
#endif
