//===- ThreadPartition.h - objects that threads divide among them -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the sites whose objects are divided: each thread of a parallel loop works on a contiguous
// share of the object. Recognises OpenMP loops with a static schedule and no chunk size whose
// accesses are affine in the bounds of the thread's chunk. The divided loop has to run along the
// object's leading dimension. On a machine of several nodes each share can then be put on its
// threads' node before the first touch.
//
// A site counts as divided only if every load and store of it in parallel code is. If one loop
// gathers, divides another dimension, or is scheduled dynamically, no share belongs to one thread.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THREADPARTITION_H
#define SMALLOC_PASSES_THREADPARTITION_H

#include "passes/pointers/PointerOrigins.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Returns the sites of \p M whose objects are divided.
llvm::DenseSet<const llvm::CallBase *> partitionedSites(llvm::Module &M,
                                                        llvm::FunctionAnalysisManager &FAM,
                                                        const PointerOrigins &Origins);

} // namespace smalloc
#endif
