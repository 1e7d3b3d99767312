//===- AccessCoverage.h - share of accesses with a known site -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the heap accesses of a unit by the source of their memory. The source is a site of the
// unit, a named place, or unknown. The summaries of other units may join a named place with their
// sites. The counts are a statistic for docs/evidence/coverage.md (coverage=DIR); no decision uses
// them.
//
// Each load, store, atomic, copy and gather inside a loop of its function counts once. Accesses
// that reach only global variables or the stack do not count. With a profile (-fprofile-use) each
// access also counts by its executions, inside a loop or not.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ACCESSCOVERAGE_H
#define SMALLOC_PASSES_ACCESSCOVERAGE_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/pointers/PointerOrigins.h"

namespace smalloc {

/// Returns the counts of \p M. Makes keys in \p Keys, whose names the file needs.
AccessCoverage accessCoverage(llvm::Module &M, llvm::FunctionAnalysisManager &FAM,
                              const PointerOrigins &Origins, KeyNames &Keys);

/// Writes the coverage of \p M to a JSON file in \p Directory. The file also holds what a join
/// needs: the unit's flows and the nodes of its steerable sites.
llvm::Error writeCoverageJson(const llvm::Module &M, const UnitDecisions &Verdicts,
                              llvm::StringRef Directory);

} // namespace smalloc
#endif
