//===- StaticArrays.h - arrays that nobody allocates ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which of the unit's variables are listed as sites: those that can hold a superpage, Fortran's COMMON blocks and
// module arrays among them. Nothing is rewritten for them: the library puts a program's variables on superpages
// when it is told to (static:on), and these records say whether that would pay, and for which.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_STATICARRAYS_H
#define SMALLOC_PASSES_STATICARRAYS_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/SiteDecision.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smalloc {

/// \p References: all of the unit; \p Judge: what one of them asks for an object of the verdict's size.
std::vector<SiteDecision>
decideStatics(llvm::Module &M, llvm::ArrayRef<LoopReference> References,
              const PointerOrigins &Origins, const Options &O,
              llvm::function_ref<Finding(const LoopReference &, const SiteDecision &)> Judge);

/// Writes the ids onto the variables, for a link with LTO: there two variables of one name get other names, and units none.
void keepStaticIds(llvm::ArrayRef<SiteDecision> Statics);

/// Did other units know \p G when it was compiled?
bool wasOwn(const llvm::GlobalVariable &G);

} // namespace smalloc
#endif
