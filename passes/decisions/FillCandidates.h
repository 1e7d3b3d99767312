//===- FillCandidates.h - fills that may get a fill point -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the loops and calls of a unit that fill memory which no decision may have put on
// superpages. points/FillPoints.h chooses those that get a fill point.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLCANDIDATES_H
#define SMALLOC_PASSES_FILLCANDIDATES_H

#include "passes/loops/LoopAccesses.h"
#include "passes/pointers/MemoryTouches.h"
#include <vector>

namespace smalloc {

struct FillCandidates {
  std::vector<LoopReference> Stores; ///< grouped by function
  std::vector<Fill> Calls;
  bool empty() const { return Stores.empty() && Calls.empty(); }
};

} // namespace smalloc
#endif
