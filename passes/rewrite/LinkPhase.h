//===- LinkPhase.h - sites decided again where units meet -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a link with LTO changes. The compile phase has described and rewritten the sites of each unit, so that a
// link without the plugin is complete. A link with it takes that back (calls are calls of malloc again, with the ids that
// they were given), has the merged module (full LTO) or the unit and what it imports (ThinLTO) decided as any unit, and
// rewrites it as any unit. Kept over that are
//  - each site's id and record name, and where people find it;
//  - variables: what they were called, and what a unit said of one that only it knows;
//  - a decision: what a unit decided is not forgotten because larger modules are looked at less closely;
//  - sites whose cells other modules may refer to (of ODR functions, or promoted by ThinLTO): they stay as compiled;
//  - the options that the units were compiled with: where units differ in them, all stays as it was compiled.
// Bodies that ThinLTO imports are analysed, but their calls are left as they are: their own unit decides them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LINKPHASE_H
#define SMALLOC_PASSES_LINKPHASE_H

#include "passes/rewrite/SiteRewriter.h"
#include "llvm/ADT/MapVector.h"

namespace smalloc {

/// What the compile phase made of a module's sites, taken back by the constructor.
class FormerSites {
public:
  FormerSites(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  /// Brings what is kept into the new verdicts.
  void settle(UnitDecisions &Unit) const;
  /// After the rewriting: puts the new cells in the places of the old ones and removes what nobody refers to.
  void finish(const SiteCells &Cells);
  /// Units that went into the module.
  unsigned units() const { return Units; }

private:
  struct Former {
    llvm::GlobalVariable *Cell, *Record;
    std::string CellName, RecordName;
  };
  llvm::Function *originalOf(const llvm::CallBase &Call, llvm::FunctionType *Type);
  void takeBackCall(llvm::CallBase &Call);
  void takeBackEntries(llvm::FunctionAnalysisManager &FAM);
  void collectRecords();
  void keepRecordNames();

  llvm::Module &M;
  llvm::MapVector<const llvm::CallBase *, Former> Sites;
  llvm::SmallVector<llvm::GlobalVariable *, 8> WithoutCell; ///< records of plain calls
  std::vector<std::string> WrapperRecords; ///< of functions that returned fresh memory
  unsigned Units = 0;
};

} // namespace smalloc
#endif
