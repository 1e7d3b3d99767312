//===- SiteNumbering.h - the ids of sites --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each allocation site a 64-bit id that is the same at every -O level, with and without -g, and in
// instrumented and final builds. The id is made before any inlining from source path (left out for ODR functions,
// of which the linker keeps any copy), function linkage name, callee and ordinal, never from lines. It travels as
// a call-site string attribute: metadata is lost when inlining turns a call into an invoke.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_SITENUMBERING_H
#define SMALLOC_PASSES_SITENUMBERING_H

#include "llvm/IR/PassManager.h"
#include <string>

namespace smalloc {

/// First pass of the pipeline: numbers the sites. Before that it gives calls of allocation functions the library's prototype where
/// they have a size of less than 64 bits, or none. Also run later: it numbers what is still unnumbered (calloc made
/// from malloc and memset), so that no site is left without an id.
class AllocationSitesPass : public llvm::PassInfoMixin<AllocationSitesPass> {
public:
  enum class When { PipelineStart, Later };
  AllocationSitesPass(std::string Root, When Phase, bool Hosted = false)
      : Root(std::move(Root)), Phase(Phase), Hosted(Hosted) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);

private:
  std::string Root;
  When Phase;
  bool Hosted; ///< the front end says so
};

} // namespace smalloc
#endif
