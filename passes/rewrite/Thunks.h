//===- Thunks.h - functions that rewritten calls go through ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds thunks, through which the calls of a rewritten site go. A thunk takes the arguments of the
// function that the program called, and the site's cell. It is hidden and in its own COMDAT, so
// that the linker keeps one per image. It reaches the runtime by a weak entry. There are three
// kinds:
// - malloc and similar functions: the thunk compares the size with the cell's word to choose
//   between the runtime and the program's function. If the runtime returns "nothing done", the
//   program's function serves the request.
// - Fortran's runtime, which allocates inside: the entry gets the array's descriptor. If the entry
//   does nothing, the Fortran runtime allocates. Before an assignment the entry may allocate the
//   left side, which the assignment then fills.
// - mappings (mmap, numa_alloc): the program's own call always makes the mapping, since the program
//   may unmap or protect any part later. Then the entry gets the mapping, and advises the kernel.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKS_H
#define SMALLOC_PASSES_THUNKS_H

#include "passes/sites/AllocationSites.h"
#include "llvm/IR/Module.h"

namespace smalloc {

/// Returns the thunk of \p Original, a function of \p Family that is called with \p Type. \p Type
/// counts even if the unit declares another one.
llvm::Function *thunkOf(llvm::Module &M, AllocFamily Family, llvm::Function *Original,
                        llvm::FunctionType *Type);

} // namespace smalloc
#endif
