//===- UnitDecisions.h - the decisions for a translation unit -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holds the result of the analysis of a unit: its sites, its static arrays, the nests that get
// promotion points, the loops and calls that get fill points, and the summary for other units.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITDECISIONS_H
#define SMALLOC_PASSES_UNITDECISIONS_H

#include "passes/decisions/FillCandidates.h"
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
  uint64_t InLoops = 0;  ///< accesses in loops, as they are in the code
  uint64_t Runs = 0;     ///< executions, as far as a profile shows them
  uint64_t LoopRuns = 0; ///< of these, executions of accesses in loops
  AccessCount &operator+=(const AccessCount &O) {
    InLoops += O.InLoops;
    Runs += O.Runs;
    LoopRuns += O.LoopRuns;
    return *this;
  }
};

struct AccessCoverage {
  using Places = std::vector<std::pair<uint64_t, bool>>;
  /// Keyed by function, since the linker may drop a function.
  std::map<std::string, AccessCount> Attributed; ///< at least one site of the unit reaches them
  std::map<std::string, AccessCount> Unnamed;    ///< the source of the pointer is unknown
  /// The other accesses, by the places that their pointers come from: (key, true if loaded from its
  /// memory).
  std::map<std::pair<std::string, Places>, AccessCount> Named;
  /// Keys of memory that no site allocates (KeyNames::keysOfElsewhere()).
  std::vector<uint64_t> Elsewhere;
};

/// A nest that pays if the object that it walks is large; it gets a promotion point.
struct ProfitableNest {
  const llvm::Loop *Outermost = nullptr;
  llvm::Function *F = nullptr;
  LoopReference Reference;
  bool Foreign = false; ///< no site of the unit is known to make the object
};

/// Nodes of allocations that stay as another compile phase left them, by their calls.
using KeptNodes = llvm::DenseMap<const llvm::CallBase *, uint64_t>;

struct UnitDecisions {
  std::vector<SiteDecision> Sites;   ///< in program order
  KeptNodes Kept;                    ///< sites of a link that are only summarised
  std::vector<SiteDecision> Statics; ///< variables; nothing is rewritten for them
  std::vector<ProfitableNest> Nests;
  FillCandidates Fills;
  bool OriginsGaveUp = false;
  KeyedSummary Summary;
  AccessCoverage Coverage; ///< empty without option coverage
  std::unique_ptr<AllocationWrappers> Wrappers;
};

} // namespace smalloc
#endif
