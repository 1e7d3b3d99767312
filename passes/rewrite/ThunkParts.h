//===- ThunkParts.h - what thunks are made of ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes the arguments and the runtime entry of each allocation family, and makes the functions and symbols that
// the plugin adds to a unit: weak entries, hidden functions of which an image keeps one copy.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_THUNKPARTS_H
#define SMALLOC_PASSES_THUNKPARTS_H

#include "passes/sites/AllocationSites.h"
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
