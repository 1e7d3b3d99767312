//===- StaticArrays.h - global variables listed as sites ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the unit's global variables that can hold a superpage as sites, among them Fortran's COMMON
// blocks and module arrays. The plugin rewrites nothing for them. libsmalloc puts a program's
// variables on superpages with program:static. These records say for which variables that pays.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_STATICARRAYS_H
#define SMALLOC_PASSES_STATICARRAYS_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/SiteDecision.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalloc {

/// Returns the decisions for the variables of \p M that can hold a superpage. \p References must be
/// all of the unit. \p Judge returns the benefit of one reference for an object of the decision's
/// size.
std::vector<SiteDecision>
decideStatics(llvm::Module &M, llvm::ArrayRef<LoopReference> References,
              const PointerOrigins &Origins, const Options &O,
              llvm::function_ref<Finding(const LoopReference &, const SiteDecision &)> Judge);

/// Writes the ids onto the variables, for a link with LTO. There, variables of the same name are
/// renamed, and units have no name.
void keepStaticIds(llvm::ArrayRef<SiteDecision> Statics);

/// True if \p G had local linkage when its unit was compiled.
bool wasOwn(const llvm::GlobalVariable &G);

} // namespace smalloc
#endif
