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

#include "passes/decisions/UnitDecisions.h"
#include "passes/pointers/PointerOrigins.h"

namespace smalloc {

AccessCoverage accessCoverage(llvm::Module &M, llvm::FunctionAnalysisManager &FAM,
                              const PointerOrigins &Origins, KeyNames &Keys);

/// Writes what a join needs, too: the unit's flows and the nodes of its steerable sites.
llvm::Error writeCoverageJson(const llvm::Module &M, const UnitDecisions &Verdicts,
                              llvm::StringRef Directory);

} // namespace smalloc
#endif
