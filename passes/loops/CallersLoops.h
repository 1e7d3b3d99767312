//===- CallersLoops.h - repetition by a function's callers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds accesses that run repeatedly although no loop of their function contains them: the function
// recurses, or a caller calls it in a loop. An address counts if the recursion loads its pointer
// through an argument, or if it has an unpredictable part. The caller may walk any other one in
// order.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CALLERSLOOPS_H
#define SMALLOC_PASSES_CALLERSLOOPS_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace smalloc {

/// Returns the functions that a loop of this unit calls, directly or through other functions of the
/// unit. A function that calls itself counts as one.
llvm::DenseSet<const llvm::Function *> functionsCalledInLoops(llvm::Module &M,
                                                              llvm::FunctionAnalysisManager &FAM);

/// True if the address \p Pointer, outside of any loop, has an unpredictable part: an index that is
/// computed or loaded. A plain argument is none, since its caller may walk it in order. A pointer
/// loaded from a table points to a place as unpredictable as the table's index.
bool computedIndex(const llvm::Value *Pointer, unsigned Depth = 0);

/// Returns the arguments of \p F through which its calls of itself load the pointer that they pass
/// for the same argument; none if \p F does not call itself.
llvm::SmallPtrSet<const llvm::Argument *, 4> chasedArguments(llvm::Function &F);

} // namespace smalloc
#endif
