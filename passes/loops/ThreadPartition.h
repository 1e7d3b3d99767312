//===- ThreadPartition.h - which objects do threads divide among them? ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for which sites each thread of a parallel loop works on a contiguous share of the object: OpenMP loops with a
// static schedule and no chunk size, whose accesses are affine in the bounds of the thread's chunk, with the divided loop
// along the leading dimension. On a machine of several nodes each share can then be put where its threads are, before
// the first touch.
//
// A site counts as divided only if every access to it in parallel code is. One loop that gathers, divides another
// dimension, or is scheduled dynamically, and there is no share that belongs to a thread.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THREADPARTITION_H
#define SMALLOC_PASSES_THREADPARTITION_H

#include "passes/pointers/PointerOrigins.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// The sites that are divided.
llvm::DenseSet<const llvm::CallBase *> partitionedSites(llvm::Module &M,
                                                        llvm::FunctionAnalysisManager &FAM,
                                                        const PointerOrigins &Origins);

} // namespace smalloc
#endif
