//===- UnitAnalysis.h - superpages for this site? --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for each allocation site of a unit: superpages, base pages, or at run time from which size; and says why.
// Inputs are the references that reach the site (LoopAccesses, PointerOrigins) and the machine's reach.
//
// A site that only known accesses reach and that gains nothing stays a plain call for good. One whose pointer leaves
// the unit is never "base for good": it stays steerable (undecided), because unknown is the normal case in programs
// of several files.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITANALYSIS_H
#define SMALLOC_PASSES_UNITANALYSIS_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Analyses \p M. Needs the site attributes of AllocationSitesPass.
UnitDecisions decideUnit(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O);

} // namespace smalloc
#endif
