//===- AccessTracer.h - records the accesses of a program -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes an instrumented program (profile-generate) record its accesses. The tests are inline, so an
// access outside the sample costs a few instructions and no call. The pass runs last, so it does
// not count accesses that the optimiser keeps in registers. The program finds the entries of the
// feedback library through the image's gate (smalloc/access.h). Without the library the program
// runs unchanged.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ACCESSTRACER_H
#define SMALLOC_PASSES_ACCESSTRACER_H

#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

class AccessTracerPass : public llvm::PassInfoMixin<AccessTracerPass> {
public:
  /// \p Directory is where a program writes its trace if nothing else names a place.
  explicit AccessTracerPass(std::string Directory) : Directory(std::move(Directory)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
  static bool isRequired() { return true; }

private:
  std::string Directory;
};

} // namespace smalloc
#endif
