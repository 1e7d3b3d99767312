//===- UnitSummary.h - a unit's summary for other units -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the unit's part of the program-wide join: the flows of pointers by name, and the accesses
// of its loops to memory of other units. Of each name, the summary keeps the most promising access.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_UNITSUMMARY_H
#define SMALLOC_PASSES_UNITSUMMARY_H

#include "passes/decisions/UnitDecisions.h"
#include "passes/decisions/UnitSites.h"

namespace smalloc {

/// Adds the summary to \p Result, and the coverage if the options ask for it. The sites of
/// \p Result must be decided and named.
void summarise(const UnitInputs &In, UnitDecisions &Result);

} // namespace smalloc
#endif
