//===- Remarks.h - optimization remarks about sites -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the optimization remarks: -Rpass=smalloc (superpages), -Rpass-missed=smalloc (base pages,
// with the reason) and -Rpass-analysis=smalloc (the numbers). Remarks read as sentences; their YAML
// records hold the values.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_REMARKS_H
#define SMALLOC_PASSES_REMARKS_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/options/Options.h"

namespace smalloc {

void emitRemarks(llvm::ArrayRef<SiteDecision> Sites, const Options &O,
                 llvm::FunctionAnalysisManager &FAM);

/// Emits a remark for each directive of the profile-use file that this unit cannot follow. The
/// remarks are placed at the unit's first function.
void emitProfileRemarks(llvm::Module &M, llvm::ArrayRef<SiteDecision> Sites, const Options &O,
                        llvm::FunctionAnalysisManager &FAM);

/// Emits one remark \p Name at the unit's first function: its sites stay unchanged because of
/// \p Why.
void emitLeftAloneRemark(llvm::Module &M, llvm::StringRef Name, llvm::StringRef Why,
                         llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
