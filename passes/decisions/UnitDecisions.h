//===- UnitDecisions.h - what is decided of a unit -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the result of the analysis of a unit: its sites, its static arrays, the nests that get promotion points,
// the loops and calls that get fill points, and the summary for other units.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITDECISIONS_H
#define SMALLOC_PASSES_UNITDECISIONS_H

#include "passes/decisions/FillPoints.h"
#include "passes/decisions/SiteDecision.h"
#include "passes/loops/LoopAccesses.h"
#include "passes/pointers/KeyedSummary.h"
#include "passes/sites/AllocationWrappers.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace smalloc {

struct AccessCount {
  uint64_t InLoops = 0; ///< where they stand in the code
  uint64_t Runs = 0;    ///< as often as they have run, as far as a profile says
  AccessCount &operator+=(const AccessCount &O) {
    InLoops += O.InLoops;
    Runs += O.Runs;
    return *this;
  }
};

struct AccessCoverage {
  using Places = std::vector<std::pair<uint64_t, bool>>;
  /// By function: the linker may drop it.
  std::map<std::string, AccessCount> Attributed; ///< at least one site of the unit reaches them
  std::map<std::string, AccessCount> Unnamed;    ///< nothing is known
  /// The others, by the places that they got their pointers from: key, and whether through its memory.
  std::map<std::pair<std::string, Places>, AccessCount> Named;
  /// Places that other memory than the heap's goes to.
  std::vector<uint64_t> Elsewhere;
};

/// A nest that pays if the object it walks is big: where a promotion point belongs.
struct ProfitableNest {
  const llvm::Loop *Outermost = nullptr;
  llvm::Function *F = nullptr;
  LoopReference Reference;
  bool Foreign = false; ///< no site of the unit is known to make the object
};

struct UnitDecisions {
  std::vector<SiteDecision> Sites;   ///< in program order
  std::vector<SiteDecision> Statics; ///< variables; nothing is rewritten for them
  std::vector<ProfitableNest> Nests;
  FillCandidates Fills;
  bool OriginsGaveUp = false;
  KeyedSummary Summary;
  AccessCoverage Coverage; ///< empty unless it was asked for
  std::unique_ptr<AllocationWrappers> Wrappers;
};

} // namespace smalloc
#endif
