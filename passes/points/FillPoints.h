//===- FillPoints.h - announces ranges before they are filled -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inserts a call of the runtime directly before a loop nest, a memset, a copy or a read that writes
// a range of memory. So the runtime can put that range on a superpage before the first touch. Then
// a superpage costs a fifth of its base pages; after the first touch it costs more than they do.
// Most objects are filled by code that does not see the allocation, with sizes known at run time
// only. FillGuards.h describes what a point costs when the fill is small.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLPOINTS_H
#define SMALLOC_PASSES_FILLPOINTS_H

#include "passes/decisions/FillCandidates.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Inserts a marker (FillGuards.h) before each fill whose range the program can compute there.
/// Calls \p Changes with a function before changing it. Uses the analyses of the decisions.
void insertFillPoints(const FillCandidates &Candidates, llvm::FunctionAnalysisManager &FAM,
                      llvm::function_ref<void(llvm::Function &)> Changes);

} // namespace smalloc
#endif
