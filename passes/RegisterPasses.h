//===- RegisterPasses.h - where smalloc sits in the pipeline ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the pipeline points: sites are numbered at its start, before any inlining; analysis and rewriting happen at
// OptimizerEarly, after inlining, SROA and LICM and before vectorising makes copies of each access. -O0 is left alone.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REGISTERPASSES_H
#define SMALLOC_PASSES_REGISTERPASSES_H

#include "Options.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
}

namespace smalloc {

/// Adds the callbacks. \p Base: from the clang plugin arguments; the -smalloc-* options go on top.
void registerPasses(llvm::PassBuilder &PB, const Options &Base);

/// Analysis, remarks, site table, rewriting. Acts once a module, whatever the number of pipelines it meets.
class SmallocPass : public llvm::PassInfoMixin<SmallocPass> {
public:
  explicit SmallocPass(Options O) : O(std::move(O)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
};

/// opt -passes='print<smalloc>': the verdicts, one line a site, for people and tests. Changes nothing.
class SmallocPrinterPass : public llvm::PassInfoMixin<SmallocPrinterPass> {
public:
  explicit SmallocPrinterPass(Options O) : O(std::move(O)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
};

} // namespace smalloc
#endif
