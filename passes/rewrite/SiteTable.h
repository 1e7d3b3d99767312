//===- SiteTable.h - a unit's sites as data -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a unit's sites as data: each site's descriptor in the ELF section of smalloc/site.h, its
// cell, and the JSON file of -fplugin-arg-smalloc-sites=DIR.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITETABLE_H
#define SMALLOC_PASSES_SITETABLE_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

/// Variables that stay although no code refers to them. Each append makes LLVM build the list anew,
/// as a constant that is never freed. So appending n sites one at a time took n * n / 2 words.
struct KeptVariables {
  llvm::SmallVector<llvm::GlobalValue *, 16> ForImage; ///< the linker keeps them, too
  llvm::SmallVector<llvm::GlobalValue *, 16> ForUnit;  ///< the compiler keeps them
  void appendTo(llvm::Module &M);
};

/// Emits the descriptor of \p V and, if the site is rewritten, its cell. Both go to \p Kept.
/// Returns the cell, or null if there is none.
llvm::GlobalVariable *emitSite(llvm::Module &M, const SiteDecision &V, const Options &O,
                               KeptVariables &Kept);

/// Returns the decision that \p Record was emitted for, with the reported location. emitSite() must
/// have made \p Record.
SiteDecision readSite(const llvm::GlobalVariable &Record);
/// True if the site of \p Record has a cell.
bool hasCell(const llvm::GlobalVariable &Record);
/// Copies the decision of \p Decided, with its reason and numbers, to \p V.
void takeDecision(SiteDecision &V, const SiteDecision &Decided);

/// Emits the unit's block of section smalloc_keys.
llvm::GlobalVariable *emitKeys(llvm::Module &M, const KeyedSummary &Summary, KeptVariables &Kept);

/// Writes DIR/FILE.HASH.json, with the unit's file name and a hash of its path, through a temporary
/// file and rename, so that parallel compiles are safe. Fails if the file cannot be written.
llvm::Error writeSitesJson(const llvm::Module &M, llvm::ArrayRef<SiteDecision> Sites,
                           const Options &O);

} // namespace smalloc
#endif
