//===- RegisterPasses.h - registers the passes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the passes in the pipeline. Sites are numbered at its start, before any inlining.
// Analysis and rewriting run at OptimizerEarly: after inlining, SROA and LICM, and before
// vectorising copies accesses. -O0 is left unchanged. A link with LTO decides again, before it
// inlines anything.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REGISTERPASSES_H
#define SMALLOC_PASSES_REGISTERPASSES_H

#include "passes/options/Options.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
}

namespace smalloc {

/// Adds the pipeline callbacks. \p Base holds the options of the clang plugin arguments; the
/// -smalloc-* options override them.
void registerPasses(llvm::PassBuilder &PB, const Options &Base);

/// Runs the analysis, remarks, site table and rewriting, once per module in any number of
/// pipelines.
class SmallocPass : public llvm::PassInfoMixin<SmallocPass> {
public:
  explicit SmallocPass(Options O, bool ForLink = false) : O(std::move(O)), ForLink(ForLink) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
  bool ForLink; ///< a link with LTO may follow
};

/// Runs the link phase (LinkPhase.h) with the options that the units were compiled with.
class SmallocLinkPass : public llvm::PassInfoMixin<SmallocLinkPass> {
public:
  explicit SmallocLinkPass(std::string CoverageDir) : CoverageDir(std::move(CoverageDir)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string CoverageDir;
};

} // namespace smalloc
#endif
