//===- Prototypes.h - the allocation functions and their types -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the allocation functions by name and prototype, and compares a call with the prototype. A
// call's size may have another width, or the call may have no prototype at all (an old
// declaration). This call can be given the library's prototype. A call with any other mismatch is
// left alone.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_PROTOTYPES_H
#define SMALLOC_PASSES_PROTOTYPES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"

namespace smalloc {

/// Families of allocation functions. A family has one entry of the runtime (rewrite/ThunkParts.h),
/// and each of its functions has a thunk of its own: new must fall back to the same new.
enum class AllocFamily {
  Malloc,
  Calloc,
  Realloc,
  AlignedAlloc, ///< aligned_alloc, memalign
  PosixMemalign,
  Valloc,
  Pvalloc,
  ReallocArray,
  New, ///< operator new(size_t)
  NewArray,
  NewNothrow,
  NewArrayNothrow,
  NewAligned,
  NewArrayAligned,
  NewAlignedNothrow,
  NewArrayAlignedNothrow,
  Wrapper, ///< a function that returns fresh memory (AllocationWrappers), no allocation function
  FortranAllocate, ///< ALLOCATE in flang's runtime (STAT=, POINTER): stores into the descriptor
  FortranAssign,   ///< an assignment that may (re)allocate its left side
  FortranSource,   ///< ALLOCATE with SOURCE=, whose value is copied into the block
  FortranCopyIn,   ///< a contiguous copy of a section, for a procedure that requires one
  Mapping,         ///< anonymous memory: mmap, numa_alloc and its forms
};

struct FamilyRow {
  AllocFamily Family;
  llvm::StringRef Name;
  /// Types of the result, then of the parameters: p pointer, l 64 bits, i 32 bits, b one bit, v
  /// void.
  llvm::StringRef Types;
};

/// Degree to which the types of a call fit the library's prototype of the function.
enum class Fit { Not, Convertible, Exact };

/// Returns all rows.
llvm::ArrayRef<FamilyRow> allocationFunctions();

/// Returns how the types of \p Call, a call of \p Callee, fit \p Types (FamilyRow::Types).
Fit fitOf(const llvm::CallBase &Call, const llvm::Function &Callee, llvm::StringRef Types);

/// Returns the row of the declared allocation function that \p Call calls by name; null if there
/// is none.
const FamilyRow *calledRow(const llvm::CallBase &Call);

/// Replaces \p Call, which is Convertible, by a call of the prototype \p Types. Only sizes of less
/// than 64 bits change their type; the other arguments fit. The declaration stays as it is.
void callByPrototype(llvm::CallBase &Call, llvm::StringRef Types);

/// Calls \p Do(call, row, fit) for each direct call in \p M whose types are not those of the
/// library. Leaves out calls in functions for which \p Skip is true. \p Do may replace the call.
void forForeignPrototypes(llvm::Module &M, llvm::function_ref<bool(const llvm::Function &)> Skip,
                          llvm::function_ref<void(llvm::CallBase &, const FamilyRow &, Fit)> Do);

} // namespace smalloc
#endif
