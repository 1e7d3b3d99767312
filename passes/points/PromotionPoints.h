//===- PromotionPoints.h - announces loop nests that pay for superpages ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inserts a call before each loop nest that pays for superpages if its object is large. So
// libsmalloc can promote the object before the nest runs.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PROMOTIONPOINTS_H
#define SMALLOC_PASSES_PROMOTIONPOINTS_H

#include "passes/decisions/UnitDecisions.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Inserts promotion points before profitable nests, whose loops may get preheaders. Calls
/// \p Changes with a function before changing it. Must run before rewriteSites, since it uses the
/// analyses of the decisions.
void insertPromotionPoints(llvm::ArrayRef<ProfitableNest> Nests, llvm::FunctionAnalysisManager &FAM,
                           llvm::function_ref<void(llvm::Function &)> Changes);

} // namespace smalloc
#endif
