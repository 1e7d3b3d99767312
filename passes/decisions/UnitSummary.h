//===- UnitSummary.h - what other units may want to know --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the unit's part of the program-wide join: flows of pointers by name, and what its loops do with memory of other
// units, of which each name's most promising access is kept.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITSUMMARY_H
#define SMALLOC_PASSES_UNITSUMMARY_H

#include "passes/decisions/BenefitModel.h"
#include "passes/decisions/UnitDecisions.h"

namespace smalloc {

/// \p Result: its sites are decided and named; gets the summary, and the coverage if \p O asks for it.
void summarise(llvm::Module &M, llvm::FunctionAnalysisManager &FAM, const Options &O,
               const AllocationWrappers &Wrappers, PointerOrigins &Origins, ReferenceBenefit &Judge,
               llvm::ArrayRef<LoopReference> References, UnitDecisions &Result);

} // namespace smalloc
#endif
