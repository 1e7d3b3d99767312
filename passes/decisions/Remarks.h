//===- Remarks.h - the compiler explains itself -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the optimization remarks: -Rpass=smalloc (superpages), -Rpass-missed=smalloc (not, and why),
// -Rpass-analysis=smalloc (the numbers). They read as sentences; the YAML record has the values.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REMARKS_H
#define SMALLOC_PASSES_REMARKS_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

void emitRemarks(llvm::ArrayRef<SiteDecision> Sites, const Options &O,
                 llvm::FunctionAnalysisManager &FAM);

/// What the directives file of profile-use has that this unit cannot obey, at the unit's first function.
void emitProfileRemarks(llvm::Module &M, llvm::ArrayRef<SiteDecision> Sites, const Options &O,
                        llvm::FunctionAnalysisManager &FAM);

/// One remark, \p Name, at the unit's first function: all its sites stay as they are, and \p Why.
void emitLeftAloneRemark(llvm::Module &M, llvm::StringRef Name, llvm::StringRef Why,
                         llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
