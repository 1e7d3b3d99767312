//===- WrapperCalls.h - calls that look like allocations --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells from a call and the declaration of its function whether the call may be a context: whether
// another unit's function may hand out fresh memory, and whether the call can be sent to a second
// entry. A call looks like an allocation if its function is declared malloc or alloc_size, if it
// makes a pointer from a 64-bit number, or if it takes a 64-bit number beside the address of one
// pointer.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_WRAPPERCALLS_H
#define SMALLOC_PASSES_WRAPPERCALLS_H

#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace llvm {
class TargetLibraryInfo;
}

namespace smalloc {

inline constexpr llvm::StringRef ContextIdAttr = "smalloc-context"; ///< 16 hex digits
/// Attribute of a call by which another unit's function may hand out memory: index of the argument.
inline constexpr llvm::StringRef OutAttr = "smalloc-out";

/// True if \p Call has the form of an allocation by a function of another unit.
bool mayBeWrapperCall(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
/// Returns the index of the argument of \p Call through which another unit's function may hand out
/// fresh memory. It is the only address of a pointer, beside a 64-bit number. -1: no argument has
/// that form. Has to be called before the first optimisation, which loses which memory holds a
/// pointer.
int mayHandOutThrough(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);
/// True if the attributes of \p F, a declaration, say that the result is fresh memory.
bool isDeclaredFresh(const llvm::Function &F);
/// Returns the out-argument that mayHandOutThrough() found for \p Call; -1 if its function now has
/// a body.
int guessedOut(const llvm::CallBase &Call);

/// True if a function can get a second entry with one more argument, and its calls can be sent
/// there.
bool canTakeCell(const llvm::FunctionType &Type, const llvm::AttributeList &Attributes);
/// True if \p Call can be sent to another entry of \p Callee, a function of the program, with one
/// more argument.
bool canBeSentOn(const llvm::CallBase &Call, const llvm::Function *Callee,
                 const llvm::TargetLibraryInfo &TLI);
/// True if \p Call has nothing that a call of a second entry could not have.
bool plainCall(const llvm::CallBase &Call);
bool returnsPointer(const llvm::FunctionType &Type);
/// True if \p F has a parameter that may be a size.
bool hasNumber(const llvm::Function &F);

/// Returns the function that \p Call calls by name; null if it calls through a pointer.
inline llvm::Function *calledFunction(const llvm::CallBase &Call) {
  return llvm::dyn_cast<llvm::Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

} // namespace smalloc
#endif
