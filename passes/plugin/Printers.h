//===- Printers.h - prints what the plugin finds --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints results of the analyses on stderr. Tests run these passes with opt; no pipeline has them.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PRINTERS_H
#define SMALLOC_PASSES_PRINTERS_H

#include "passes/options/Options.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Prints the decisions, one line per site, for opt -passes='print<smalloc>'. Changes nothing.
class SmallocPrinterPass : public llvm::PassInfoMixin<SmallocPrinterPass> {
public:
  explicit SmallocPrinterPass(Options O) : O(std::move(O)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  Options O;
};

/// Prints the cost of the pointer analysis, for opt -passes='print<smalloc-origins>' in tests.
/// Changes nothing.
class OriginsPrinterPass : public llvm::PassInfoMixin<OriginsPrinterPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
