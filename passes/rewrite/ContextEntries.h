//===- ContextEntries.h - where a context's cell goes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the call of a function that returns fresh memory takes its cell along: to a second entry of that function,
// a copy with the cell as its last argument, whose allocations ask with that cell instead of their own. A function of
// another unit is reached through a thunk that finds the second entry by a weak hidden record (site.h, smalloc_wrapper);
// without one, or when the record is not of the very function that the call would reach (interposed by another library,
// wrapped by the linker), it calls the function as it is.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CONTEXTENTRIES_H
#define SMALLOC_PASSES_CONTEXTENTRIES_H

#include "passes/rewrite/SiteTable.h"
#include "passes/sites/AllocationWrappers.h"

namespace smalloc {

inline constexpr llvm::StringRef EntryPrefix = "__smalloc_v1_with_cell_";
inline constexpr llvm::StringRef WrapperRecordPrefix = "__smalloc_v1_wrapper_";
inline constexpr llvm::StringRef ContextThunkPrefix = "__smalloc_v1_context_";
inline constexpr size_t ContextTagBytes = 9; ///< of the prototype's tag, before the callee's name
/// On a second entry: the function that it is one of.
inline constexpr llvm::StringRef EntryOfMetadata = "smalloc.of";

/// The second entry of \p W; its body comes with defineEntries().
llvm::Function *entryWithCell(llvm::Module &M, const AllocationWrapper &W);

/// The thunk to the second entry of \p Callee, a function of another unit.
llvm::Function *contextThunk(llvm::Module &M, llvm::Function &Callee);

/// Makes the bodies of the second entries that are called, and those of exported functions with their records, which are \p Kept.
/// \p Steer: makes an allocation or context inside ask with the given cell; it gets the copy of the call.
void defineEntries(llvm::Module &M, const AllocationWrappers &Wrappers,
                   const llvm::DenseMap<const llvm::CallBase *, llvm::CallBase *> &Rewritten,
                   KeptVariables &Kept,
                   llvm::function_ref<void(llvm::CallBase &Copy, llvm::Value *Cell)> Steer);

} // namespace smalloc
#endif
