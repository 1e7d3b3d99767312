//===- AllocationSites.h - the calls that allocate -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the allocation family of a call, by the callee's name and the call's prototype. Also finds
// the units and functions that the plugin leaves alone.
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

/// Attribute of a call that is a site: its id, 16 hex digits.
inline constexpr llvm::StringRef SiteIdAttr = "smalloc-site";
/// Attribute of a site: linkage name of the function that the source has the call in.
inline constexpr llvm::StringRef SiteFunctionAttr = "smalloc-function";

/// Returns the family of a direct call to an allocation function that the unit only declares.
/// Returns nullopt for other calls, for mmap of anything but plain memory, and for calls that
/// cannot be replaced (musttail, inline asm, wrong prototype). The call's own prototype counts,
/// since a link can merge units that declare a function differently. -fno-builtin does not matter:
/// it forbids the compiler to know what the function does. Calling it through a thunk needs no such
/// knowledge, and the runtime checks whose function it is.
std::optional<AllocFamily> allocationFamily(const llvm::CallBase &Call);

/// True if \p Call returns no pointer and calls no allocation function that stores the block's
/// address (posix_memalign, flang's runtime). It can then be a context only by an argument through
/// which the called function hands out memory. True for most calls.
bool givesNoMemory(const llvm::CallBase &Call);

/// Returns the index of the argument of \p F, of the family Mapping, that is the size.
unsigned mappedBytesArgument(const llvm::Function &F);

inline bool isNewFamily(AllocFamily F) { return F >= AllocFamily::New && F < AllocFamily::Wrapper; }

/// True if Fortran's runtime copies the block's whole content into it from an array.
inline bool isFortranCopy(AllocFamily F) {
  return F == AllocFamily::FortranSource || F == AllocFamily::FortranCopyIn;
}

/// True if the family stores the new block's address where its first argument points to.
inline bool storesResult(AllocFamily F) {
  return F == AllocFamily::PosixMemalign || F == AllocFamily::FortranAllocate ||
         F == AllocFamily::FortranAssign || isFortranCopy(F);
}

/// True if \p M defines a function of the malloc family, operator new or operator delete; \p Name
/// gets its name. The plugin does not change that unit's sites.
bool definesAllocator(const llvm::Module &M, std::string *Name = nullptr);

/// True for functions that the plugin does not transform: declarations, bodies that another unit
/// emits (available_externally), optnone and naked functions, and functions without builtins unless
/// isHosted().
bool leavesAlone(const llvm::Function &F);

/// Records in \p M what isHosted() returns.
void recordHosted(llvm::Module &M);
/// True if the front end has said that the unit is for a system with a C library. Without that
/// statement, code compiled without builtins may be a kernel's, whose malloc may be any function.
bool isHosted(const llvm::Module &M);

/// Counts the allocation calls in functions of \p M that are left alone because isHosted() is
/// false.
unsigned callsWithoutBuiltins(const llvm::Module &M);

/// True if the plugin may change the unit. False for units that libsmalloc never serves: code of
/// devices, code of unsupported processors, and units with a sanitizer. A sanitizer's malloc serves
/// the whole unit, including functions exempt from the sanitizer.
bool isServed(const llvm::Module &M);

/// True for 64-bit ELF code of a host processor, the only code that the site ABI is defined for.
bool isHostTarget(const llvm::Triple &Target);

/// True if allocations carry a token (-fsanitize=alloc-token). Clang adds it to each call of an
/// allocation function at the end of the pipeline, so a call through a thunk would get none.
bool hasAllocTokens(const llvm::Module &M);

} // namespace smalloc
#endif
