//===- LayoutPadding.h - pads rows that share cache sets ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lengthens the rows of arrays by one cache line (option layout=on). On base pages, physical
// addresses beyond the first 4 KiB are random, and so are the cache sets of a row's lines. In a
// contiguous 2 MiB page the sets follow from the row's length. Rows of a multiple of 4 KiB put all
// elements of a column into the same few sets: a walk down the column misses even if it is small.
// One more cache line per row spreads the elements over the sets.
//
// The layout may change only if no other code knows it. So the pass pads only static arrays of the
// unit with two dimensions or more of plain numbers and without an initial value. Every use must be
// an access by subscripts. The pass runs before any optimisation, while subscripts are still
// visible. Subscripts are assumed to stay in their dimension, as C demands (a[0][i] beyond the
// first row is undefined). Any other use leaves the array unchanged, and a remark names it. Debug
// information counts as one, since a debugger would show the wrong elements.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LAYOUTPADDING_H
#define SMALLOC_PASSES_LAYOUTPADDING_H

#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Rows whose length is a multiple of this many bytes share cache sets: 64 sets of 64 bytes. Most
/// x86-64 processors have a first-level data cache with these sets. Caches with more or longer sets
/// have a multiple of these bytes: there, fewer rows share a set.
inline constexpr uint64_t SetPatternBytes = 4096;

class LayoutPaddingPass : public llvm::PassInfoMixin<LayoutPaddingPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
