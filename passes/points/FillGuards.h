//===- FillGuards.h - cost of a fill point when the fill is small ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands the markers of fill points when all loops have their last form. Before a lone loop or a
// call: an inline test of the size, and the call in a cold block together with all that only the
// call needs. Before a nest: a call of a thunk that tests. The thunk preserves general registers.
// Until then a marker is one call in a block of the program. With a block of its own, the passes in
// between would have to analyse the function again.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_FILLGUARDS_H
#define SMALLOC_PASSES_FILLGUARDS_H

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// One range, or one behind each pointer of an array.
enum class FillKind { One, Each };

/// Returns the marker: void(ptr first byte, i64 bytes of the range, or 0 for the whole object, i64
/// bytes that are written). A marker that stays (in a link without the plugin) tests the size and
/// calls libsmalloc. Each: void(ptr pointers, i64 bytes of each range, i64 bytes that are written
/// in each, i64 number of pointers, i64 distance of a range from its pointer).
llvm::Function *fillMarker(llvm::Module &M, FillKind Kind);

/// Expands all markers of \p M. Returns true if there was one.
bool expandFillMarkers(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

} // namespace smalloc
#endif
