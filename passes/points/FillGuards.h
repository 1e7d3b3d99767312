//===- FillGuards.h - what a fill point costs when the fill is small --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands the markers of fill points when all loops have their last form. Before a lone loop or a
// call: a test of the size in line, and the call in a cold block, with all that only the call needs.
// Before a nest: a call of a thunk that tests. The thunk keeps general registers. Until then a marker
// is one call in a block of the program: with a block of its own, the passes between would analyse the
// function anew.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLGUARDS_H
#define SMALLOC_PASSES_FILLGUARDS_H

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Returns the marker: void(ptr first byte, i64 bytes of the range or 0, i64 bytes that are written).
/// A marker that stays (in a link without the plugin) tests the size and calls libsmalloc.
llvm::Function *fillMarker(llvm::Module &M);

/// Expands all markers of \p M. Returns true if there was one.
bool expandFillMarkers(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
