//===- SiteNumbering.h - the ids of sites --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each allocation site a 64-bit id that is the same at every -O level, with and without -g,
// and in instrumented and final builds. The id is a hash made before any inlining from source path,
// linkage name of the function, callee and ordinal, never from lines. The source path is left out
// for linkonce and weak functions, of which the linker keeps any copy. The id is a string attribute
// of the call: inlining that turns a call into an invoke loses metadata.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITENUMBERING_H
#define SMALLOC_PASSES_SITENUMBERING_H

#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

/// Numbers the sites as the first pass of the pipeline. First gives calls of allocation functions
/// the library's prototype if their size has less than 64 bits or they have no prototype. Runs
/// again later and numbers what is still unnumbered (calloc made from malloc and memset), so that
/// every site has an id.
class AllocationSitesPass : public llvm::PassInfoMixin<AllocationSitesPass> {
public:
  enum class When { PipelineStart, Later };
  AllocationSitesPass(std::string Root, When Phase, bool Hosted = false)
      : Root(std::move(Root)), Phase(Phase), Hosted(Hosted) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string Root;
  When Phase;
  bool Hosted; ///< the front end says that the target has a C library
};

} // namespace smalloc
#endif
