//===- RegisterPasses.h - where smalloc sits in the pipeline ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the pipeline points: sites are numbered at its start, before any inlining; analysis and rewriting happen at
// OptimizerEarly, after inlining, SROA and LICM and before vectorising makes copies of each access. -O0 is left alone.
// A link with LTO decides once more, before it inlines anything.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REGISTERPASSES_H
#define SMALLOC_PASSES_REGISTERPASSES_H

#include "passes/options/Options.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
}

namespace smalloc {

/// Adds the callbacks. \p Base: from the clang plugin arguments; the -smalloc-* options go on top.
void registerPasses(llvm::PassBuilder &PB, const Options &Base);

/// Of locations that the front end gives for us alone, leaves those of calls, where sites are, and of loops, which stand in
/// their metadata: passes until ours need not keep the others up.
class OwnLocationsPass : public llvm::PassInfoMixin<OwnLocationsPass> {
public:
  /// \p Alone: no link will bring bodies of what other units define.
  explicit OwnLocationsPass(bool Alone) : Alone(Alone) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  bool Alone;
};

/// Analysis, remarks, site table, rewriting. Acts once a module, whatever the number of pipelines it meets.
class SmallocPass : public llvm::PassInfoMixin<SmallocPass> {
public:
  explicit SmallocPass(Options O, bool ForLink = false) : O(std::move(O)), ForLink(ForLink) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
  bool ForLink; ///< a link with LTO may follow
};

/// The link phase (LinkPhase.h): with the options that the units were compiled with.
class SmallocLinkPass : public llvm::PassInfoMixin<SmallocLinkPass> {
public:
  explicit SmallocLinkPass(std::string CoverageDir) : CoverageDir(std::move(CoverageDir)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string CoverageDir;
};

/// opt -passes='print<smalloc>': the verdicts, one line a site, for people and tests. Changes nothing.
class SmallocPrinterPass : public llvm::PassInfoMixin<SmallocPrinterPass> {
public:
  explicit SmallocPrinterPass(Options O) : O(std::move(O)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
};

/// opt -passes='print<smalloc-origins>': what it took to find out where pointers come from, for tests. Changes nothing.
class OriginsPrinterPass : public llvm::PassInfoMixin<OriginsPrinterPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
