//===- SiteRewriter.h - calls become steerable ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a rewritten call looks like. Each call of a steerable site goes to a hidden COMDAT thunk of its family
// with the site's cell; the thunk asks libsmalloc's weak entry, loaded through the GOT so that a later preload can
// switch it on, and falls back to the very function that was called. Any linker links the result with nothing on
// the line. A hidden COMDAT constructor hands each linked image's record to the runtime.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEREWRITER_H
#define SMALLOC_PASSES_SITEREWRITER_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Cells of the sites that were rewritten, by the calls as they were (which are gone).
using SiteCells = llvm::DenseMap<const llvm::CallBase *, llvm::GlobalVariable *>;

/// Tests of sizes (SiteDecision::When), by the calls that they stand before.
using SiteTests = llvm::DenseMap<const llvm::CallBase *, SizeTests>;
SiteTests insertSizeTests(const UnitDecisions &Unit, llvm::FunctionAnalysisManager &FAM);

/// Emits descriptors for all sites of \p Unit and its summary, and rewrites the steerable sites. Of the functions that there
/// were, those of the steerable sites change.
void rewriteSites(llvm::Module &M, const UnitDecisions &Unit, const Options &O,
                  const SiteTests &Tests, SiteCells *Cells = nullptr);

/// Puts promotion points before profitable nests, in whose functions loops may get preheaders for it: \p Changes is told
/// before. Must run before rewriteSites (uses the analyses of the verdicts).
void insertPromotionPoints(llvm::ArrayRef<ProfitableNest> Nests, llvm::FunctionAnalysisManager &FAM,
                           llvm::function_ref<void(llvm::Function &)> Changes);

} // namespace smalloc
#endif
