//===- LayoutPadding.h - rows that fall into the same cache sets ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which arrays get longer rows (option layout=on). On base pages the sets that a row's lines fall into beyond the
// first 4 KiB are chance; in 2 MiB that are contiguous in memory they follow from the row's length, and rows of a
// multiple of 4 KiB put all elements of a column into the same few sets: a walk down the column misses however small it
// is. One cache line more in each row spreads them.
//
// Changing an array's layout is right only if nobody else knows it. So: static arrays of the unit of two dimensions or
// more, of plain numbers, without an initial value, every use of which is an access by subscripts. It is found before any
// optimisation, while subscripts are subscripts. Subscripts are taken to stay in their dimension, as C demands
// (a[0][i] beyond the first row is undefined). Any other use, debug information among them (a debugger would show
// the wrong elements), leaves the array as it is, and a remark says which.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_LAYOUTPADDING_H
#define SMALLOC_PASSES_LAYOUTPADDING_H

#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Rows whose length is a multiple of this meet in the same sets: 64 sets of 64 bytes, the first-level data caches of all
/// machines of the table but one; larger caches have multiples of it.
inline constexpr uint64_t SetPatternBytes = 4096;

class LayoutPaddingPass : public llvm::PassInfoMixin<LayoutPaddingPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &AM);
};

} // namespace smalloc
#endif
