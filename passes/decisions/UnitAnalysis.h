//===- UnitAnalysis.h - decisions for the sites of a unit -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for each allocation site of a unit: superpages, base pages, or a choice at run time by
// the object's size. Each decision has a reason. The inputs are the references that reach the site
// (LoopAccesses, PointerOrigins) and the TLB reach of the machine.
//
// A site that only known accesses reach and that gains nothing stays a plain call for good. A site
// whose pointer leaves the unit stays steerable (undecided), never "base for good". Unknown
// accesses are the normal case in programs of several files.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITANALYSIS_H
#define SMALLOC_PASSES_UNITANALYSIS_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Returns the decisions for \p M, which needs the site attributes of AllocationSitesPass. \p Kept:
/// allocations that are not decided again, but whose pointers the summary follows.
UnitDecisions decideUnit(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O,
                         KeptNodes Kept = KeptNodes());

} // namespace smalloc
#endif
