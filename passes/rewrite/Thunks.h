//===- Thunks.h - what a rewritten call runs through ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides who is asked, and in what order, when a site allocates. A thunk has the arguments of the function that the
// program called, and the site's cell; it is hidden and in a COMDAT of its own, so that the linker keeps one per image,
// and reaches the runtime by a weak entry. Three kinds:
//  - malloc and its like: the size tells from the cell's word whether to ask; "nothing done" is answered by the
//    program's own function;
//  - Fortran's runtime, which allocates inside: the entry is asked with the array's descriptor; what it does not do, the
//    Fortran runtime does. Before an assignment the entry may allocate the left side, which the assignment then fills;
//  - mappings (mmap, numa_alloc): made by the program's own call in any case, since any part of them may be unmapped or
//    protected later; the entry is told, and advises.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKS_H
#define SMALLOC_PASSES_THUNKS_H

#include "passes/sites/AllocationSites.h"
#include "llvm/IR/Module.h"

namespace smalloc {

/// The thunk of \p Original, a function of \p Family that is called as one of \p Type, whatever the unit declares.
llvm::Function *thunkOf(llvm::Module &M, AllocFamily Family, llvm::Function *Original,
                        llvm::FunctionType *Type);

} // namespace smalloc
#endif
