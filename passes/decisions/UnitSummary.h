//===- UnitSummary.h - a unit's summary for other units -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the unit's part of the program-wide join: the flows of pointers by name, and the accesses
// of its loops to memory of other units. Of each name, the summary keeps the most promising access.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITSUMMARY_H
#define SMALLOC_PASSES_UNITSUMMARY_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/UnitDecisions.h"

namespace smalloc {

/// Adds the summary to \p Result, and the coverage if \p O asks for it. The sites of \p Result must
/// be decided and named.
void summarise(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O,
               const AllocationWrappers &Wrappers, PointerOrigins &Origins, ReferenceBenefit &Judge,
               llvm::ArrayRef<LoopReference> References, UnitDecisions &Result);

} // namespace smalloc
#endif
