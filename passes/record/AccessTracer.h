//===- AccessTracer.h - a program that tells what it touches ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an instrumented program (profile-generate) tells its accesses to a recording: tests in line, so that what is
// not sampled costs a few instructions and no call. It runs last, so that what the optimiser keeps in registers is not
// counted. Entries of the feedback library are found through the image's gate (smalloc/access.h); without the library
// the program runs as it is.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ACCESSTRACER_H
#define SMALLOC_PASSES_ACCESSTRACER_H

#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

class AccessTracerPass : public llvm::PassInfoMixin<AccessTracerPass> {
public:
  /// Directory: where a program leaves its trace when nobody else names a place.
  explicit AccessTracerPass(std::string Directory) : Directory(std::move(Directory)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
  static bool isRequired() { return true; }

private:
  std::string Directory;
};

} // namespace smalloc
#endif
