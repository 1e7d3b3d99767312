//===- AllocationSites.h - which calls allocate? -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Returns the allocation family of a call, and whether a unit and a function are served at all. Calls are
// recognised by the callee's name and the call's prototype.
//===----------------------------------------------------------------------===//
#ifndef SMALLOC_PASSES_ALLOCATIONSITES_H
#define SMALLOC_PASSES_ALLOCATIONSITES_H

#include "passes/sites/Prototypes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/InstrTypes.h"
#include <optional>
#include <string>

namespace llvm {
class TargetLibraryInfo;
class Triple;
} // namespace llvm

namespace smalloc {

inline constexpr llvm::StringRef SiteIdAttr = "smalloc-site"; ///< 16 hex digits
inline constexpr llvm::StringRef SiteFunctionAttr =
    "smalloc-function"; ///< linkage name of the function written in

/// The family of a direct call to an allocation function; nullopt for anything else, and for calls that cannot be replaced
/// (musttail, inline asm, wrong prototype). It is the call's prototype that counts: in a link units meet that declare a
/// function differently. -fno-builtin says that the compiler must not know what the function does: to call it by way of a thunk
/// needs no such knowledge, and the runtime looks whose function it is.
std::optional<AllocFamily> allocationFamily(const llvm::CallBase &Call);

/// Neither a site nor a context: most calls, which need no look at the names of what they call.
bool givesNoMemory(const llvm::CallBase &Call);

/// Number of the argument of a Mapping function \p F that has the size.
unsigned mappedBytesArgument(const llvm::Function &F);

inline bool isNewFamily(AllocFamily F) { return F >= AllocFamily::New && F < AllocFamily::Wrapper; }

/// Is the block's whole content copied into it from an array, by Fortran's runtime?
inline bool isFortranCopy(AllocFamily F) {
  return F == AllocFamily::FortranSource || F == AllocFamily::FortranCopyIn;
}

/// Does the family put the new block's address into what its first argument points to?
inline bool storesResult(AllocFamily F) {
  return F == AllocFamily::PosixMemalign || F == AllocFamily::FortranAllocate ||
         F == AllocFamily::FortranAssign || isFortranCopy(F);
}

/// True if this unit defines a function of the malloc family or an operator new or delete: its sites stay as they are.
bool definesAllocator(const llvm::Module &M, std::string *Name = nullptr);

/// True where the plugin steps aside: optnone and naked functions, and those without builtins unless isHosted().
bool leavesAlone(const llvm::Function &F);

/// Records in \p M what isHosted() returns.
void recordHosted(llvm::Module &M);
/// Does the front end say that the unit is for a system with a C library? Code that is compiled without builtins and without that
/// statement may be a kernel's, whose malloc is any function.
bool isHosted(const llvm::Module &M);

/// Calls of allocation functions in functions of \p M that are left alone for want of isHosted().
unsigned callsWithoutBuiltins(const llvm::Module &M);

/// True if the plugin may touch the unit at all. It leaves alone what no libsmalloc will ever serve: code of devices and of
/// processors that it is not for, and units of a sanitizer, whose malloc serves all of them, exempt functions included.
bool isServed(const llvm::Module &M);

/// True for code of a host processor in 64-bit ELF, for which the site ABI is laid out.
bool isHostTarget(const llvm::Triple &Target);

/// True if allocations carry a token (-fsanitize=alloc-token). It is put into each call of an allocation function at the end of
/// the pipeline: one that goes through a thunk would get none.
bool hasAllocTokens(const llvm::Module &M);

/// The size asked for: \p Size without the overflow check that new T[n] puts around n * sizeof(T).
llvm::Value *withoutOverflowCheck(llvm::Value *Size);

} // namespace smalloc
#endif
