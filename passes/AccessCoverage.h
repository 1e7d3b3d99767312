//===- AccessCoverage.h - how many accesses reach a site --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what counts as a heap access in a loop, and whether it is known where its memory comes from: from a site of the unit,
// from a place that has a name (which other units' summaries may join with their sites), or from nowhere. A statistic for
// docs/coverage.md (coverage=DIR); nothing is decided by it.
//
// Every load, store, atomic, copy and gather in a loop of its function counts once, but for those that reach variables of
// the program or of the stack only. With a profile (-fprofile-use) each also counts as often as it has run, in a loop or not.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ACCESSCOVERAGE_H
#define SMALLOC_PASSES_ACCESSCOVERAGE_H

#include "KeyedSummary.h"
#include <map>

namespace smalloc {

struct Options;
struct UnitVerdicts;

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

AccessCoverage accessCoverage(llvm::Module &M, llvm::FunctionAnalysisManager &FAM,
                              const PointerOrigins &Origins, KeyNames &Keys);

/// Writes what a join needs, too: the unit's flows and the nodes of its steerable sites.
llvm::Error writeCoverageJson(const llvm::Module &M, const UnitVerdicts &Verdicts,
                              llvm::StringRef Directory);

} // namespace smalloc
#endif
