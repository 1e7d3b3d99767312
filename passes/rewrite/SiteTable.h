//===- SiteTable.h - a unit's sites as data ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the bytes: each site's descriptor in the ELF section that smalloc/site.h describes, its cell, and the JSON
// file of -fplugin-arg-smalloc-sites=DIR.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITETABLE_H
#define SMALLOC_PASSES_SITETABLE_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Variables that stay although no code refers to them. LLVM makes a list anew, as a constant that is never freed, each time that
/// something is appended: a unit of n sites that appended one at a time took n * n / 2 words.
struct KeptVariables {
  llvm::SmallVector<llvm::GlobalValue *, 16> ForImage; ///< the linker keeps them, too
  llvm::SmallVector<llvm::GlobalValue *, 16> ForUnit;  ///< the compiler keeps them
  void appendTo(llvm::Module &M);
};

/// Emits the descriptor of \p V and, if the site is rewritten, its cell; returns the cell (null if none). Both are \p Kept.
llvm::GlobalVariable *emitSite(llvm::Module &M, const SiteDecision &V, const Options &O,
                               KeptVariables &Kept);

/// The verdict that \p Record, made by emitSite(), was emitted for: what people read of the site, and what was decided.
SiteDecision readSite(const llvm::GlobalVariable &Record);
/// Has the site of \p Record a cell?
bool hasCell(const llvm::GlobalVariable &Record);
/// Gives \p V the decision of \p Decided, with its reason and numbers.
void takeDecision(SiteDecision &V, const SiteDecision &Decided);

/// Emits the unit's block of section smalloc_keys.
llvm::GlobalVariable *emitKeys(llvm::Module &M, const KeyedSummary &Summary, KeptVariables &Kept);

/// Writes DIR/<unit>.json, whole or not at all (temporary file and rename), so that parallel compiles are safe.
llvm::Error writeSitesJson(const llvm::Module &M, llvm::ArrayRef<SiteDecision> Sites,
                           const Options &O);

} // namespace smalloc
#endif
