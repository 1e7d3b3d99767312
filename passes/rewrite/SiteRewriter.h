//===- SiteRewriter.h - makes calls steerable -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites the calls of steerable sites. Each call goes, with the site's cell, to the hidden COMDAT
// thunk of the function that it called, or to the second entry of a wrapper (ContextEntries.h). The
// thunk calls libsmalloc's weak entry, which is loaded from the GOT so that a later preload can
// switch it on. Without the entry the thunk calls the original function. Any linker links the
// result without further options. A hidden COMDAT constructor registers each linked image's record
// with the runtime.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITEREWRITER_H
#define SMALLOC_PASSES_SITEREWRITER_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Cells of the rewritten sites, by the original calls (which are erased).
using SiteCells = llvm::DenseMap<const llvm::CallBase *, llvm::GlobalVariable *>;

/// Tests of sizes (SiteDecision::When), by the calls that they precede.
using SiteTests = llvm::DenseMap<const llvm::CallBase *, SizeTests>;
/// Inserts, before the calls of \p Unit that test sizes, the code that computes these sizes.
/// Returns the tests, which rewriteSites() inserts.
SiteTests insertSizeTests(const UnitDecisions &Unit, llvm::FunctionAnalysisManager &FAM);

/// Emits descriptors for all sites of \p Unit and its summary, and rewrites the steerable sites. Of
/// the existing functions, only those of the steerable sites change. \p Cells, unless null, gets
/// the cells.
void rewriteSites(llvm::Module &M, const UnitDecisions &Unit, const Options &O,
                  const SiteTests &Tests, SiteCells *Cells = nullptr);

} // namespace smalloc
#endif
