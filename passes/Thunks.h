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

#include "AllocationSites.h"
#include "smalloc/site.h"
#include "llvm/IR/Module.h"

namespace smalloc {

inline constexpr llvm::StringRef ThunkPrefix = "__smalloc_v1_thunk_";

/// Of a cell's word: what is decided at run time, and who has decided that; and what that is while the compiler has.
inline constexpr uint64_t WordOfDeciders = SMALLOC_WORD(0xff, 0, 0, 0x7f, 0),
                          WordOfCompiler =
                              SMALLOC_WORD(SMALLOC_DECISION_RUNTIME, 0, 0, SMALLOC_BY_COMPILER, 0);

/// Where a family's arguments are, and which entry of the runtime serves it.
struct FamilyShape {
  llvm::StringRef Entry;
  int SizeArgument;         ///< of the call
  int AlignmentArgument;    ///< of the call; -1: none
  bool MayBeDirect = false; ///< its small requests are nothing but a number of bytes
  bool AsCalled = true;     ///< the entry takes the call's arguments, or new's first ones
};
FamilyShape shapeOf(AllocFamily F);

/// The thunk of \p Original, a function of \p Family that is called as one of \p Type, whatever the unit declares.
llvm::Function *thunkOf(llvm::Module &M, AllocFamily Family, llvm::Function *Original,
                        llvm::FunctionType *Type);

/// Gives the functions that smalloc has added, which are for the processor that the command line names, the rest of what
/// the unit's functions for it say: a target of their own would cost more to set up than they do.
void compileAsUnit(llvm::Module &M);

/// A weak entry of the runtime. Not dso_local: its address is loaded from the GOT, also without -fPIC, so that
/// the linker cannot settle it as absent.
llvm::Function *weakEntry(llvm::Module &M, llvm::StringRef Name, llvm::FunctionType *Type);

/// One copy per linked image, seen by nobody else.
void makeHiddenComdat(llvm::Module &M, llvm::GlobalObject *G);

} // namespace smalloc
#endif
