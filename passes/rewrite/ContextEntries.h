//===- ContextEntries.h - passes a context's cell to its callee -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes a context's cell into a function that returns fresh memory. The call goes to a second
// entry of that function: a copy with the cell as its last argument. The allocations in the copy
// use that cell instead of their own.
//
// A function of another unit is reached through a thunk, which finds the second entry by a weak
// hidden record (site.h, smalloc_wrapper). The thunk calls the function unchanged in two cases:
// there is no record, or the record is not of the function that the call would reach. The latter
// happens if another library interposes the function or the linker wraps it.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_CONTEXTENTRIES_H
#define SMALLOC_PASSES_CONTEXTENTRIES_H

#include "passes/rewrite/SiteTable.h"
#include "passes/sites/AllocationWrappers.h"

namespace smalloc {

inline constexpr llvm::StringRef EntryPrefix = "__smalloc_v1_with_cell_";
inline constexpr llvm::StringRef WrapperRecordPrefix = "__smalloc_v1_wrapper_";
inline constexpr llvm::StringRef ContextThunkPrefix = "__smalloc_v1_context_";
/// Bytes between the prefix and the callee in a context thunk's name: the prototype's tag and '_'.
inline constexpr size_t ContextTagBytes = 9;
/// Metadata of a second entry that names the function that it is an entry of.
inline constexpr llvm::StringRef EntryOfMetadata = "smalloc.of";

/// Returns the second entry of \p W. defineEntries() adds its body.
llvm::Function *entryWithCell(llvm::Module &M, const AllocationWrapper &W);

/// Returns the thunk to the second entry of \p Callee, a function of another unit.
llvm::Function *contextThunk(llvm::Module &M, llvm::Function &Callee);

/// Adds the bodies of the second entries that are called. Also adds the entries of exported
/// functions and their records, which go to \p Kept. \p Steer gets the copy of an allocation or
/// context inside an entry, and makes it use the given cell.
void defineEntries(llvm::Module &M, const AllocationWrappers &Wrappers,
                   const llvm::DenseMap<const llvm::CallBase *, llvm::CallBase *> &Rewritten,
                   KeptVariables &Kept,
                   llvm::function_ref<void(llvm::CallBase &Copy, llvm::Value *Cell)> Steer);

} // namespace smalloc
#endif
