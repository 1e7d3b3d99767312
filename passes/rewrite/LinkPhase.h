//===- LinkPhase.h - decides sites again in a link with LTO ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats the decisions in a link with LTO. The compile phase has described and rewritten the
// sites of each unit, so a link without the plugin is complete. A link with the plugin undoes that:
// calls are calls of malloc again, and keep their ids. Then it decides and rewrites the merged
// module (full LTO), or the unit with its imports (ThinLTO), like any unit. It keeps:
// - each site's id, record name and reported location;
// - the names of variables, and the unit's decision for a local variable;
// - a decision of the compile phase, since larger modules are analysed less closely;
// - sites whose cells other modules may refer to (of ODR functions, or promoted by ThinLTO): they
//   stay as compiled;
// - the options that the units were compiled with: if units differ in them, everything stays as
//   compiled.
//
// Bodies that ThinLTO imports are analysed, but their calls stay: their own unit decides them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LINKPHASE_H
#define SMALLOC_PASSES_LINKPHASE_H

#include "passes/rewrite/SiteRewriter.h"
#include "llvm/ADT/MapVector.h"

namespace smalloc {

/// Undoes in its constructor the changes of the compile phase to a module's sites, and keeps them.
class FormerSites {
public:
  FormerSites(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  /// Copies the kept facts and decisions into the new decisions of \p Unit.
  void settle(UnitDecisions &Unit) const;
  /// Replaces the old cells with the new ones and removes unused ones. Call it after the rewriting.
  void finish(const SiteCells &Cells);
  /// Returns the nodes of the sites that stay as compiled: of inline functions, whose cells other
  /// modules may share, and in calls of functions that the linker has dropped.
  const KeptNodes &kept() const { return AsCompiled; }
  /// Returns the number of units in the module.
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
  KeptNodes AsCompiled;
  std::vector<std::string> WrapperRecords; ///< of functions that returned fresh memory
  unsigned Units = 0;
};

} // namespace smalloc
#endif
