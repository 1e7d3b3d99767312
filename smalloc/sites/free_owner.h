// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_owner.h finds the definition of free, realloc and operator delete that an image reaches. If
// an image's free is not libsmalloc's, it would pass libsmalloc pointers to a foreign allocator.
#ifndef SMALLOC_SITES_FREE_OWNER_H
#define SMALLOC_SITES_FREE_OWNER_H

#include <stdint.h>

namespace smalloc {

/// libsmalloc's own definitions, set by override/. Lookups by name may find a foreign allocator's.
struct OwnFunctions {
  void *free, *realloc, *operator_delete;
  /// Targets of these names in this process: another allocator's functions if it comes first.
  void *visible_free, *visible_realloc, *visible_delete;
};
extern OwnFunctions g_own;
/// True if the program's free is of an allocator before libsmalloc. Only that free knows the
/// objects of the program's malloc.
inline bool another_free_is_first() { return g_own.visible_free != g_own.free; }

/// True if `address`, which an image calls by the name `name`, is libsmalloc's definition `own`.
bool reaches_ours(void *address, void *own, const char *name);
/// Finds the owner of free in this process. Returns nullptr if that is this library; "" if it is
/// another copy of libsmalloc, which needs no warning; else the text of a warning.
const char *modules_who_owns_free();

/// The definition of a C++ operator behind libsmalloc's: the one that is called when libsmalloc
/// passes a call on.
enum class Behind : uint8_t {
  kUnknown,   ///< none so far: a C++ runtime may be loaded later
  kRuntime,   ///< the C++ runtime library's, which ends in malloc and free
  kAllocator, ///< a peer's: its image also defines malloc
  kReplaced,  ///< the program's own, on purpose: to count, or for a pool
};
Behind who_is_behind(void *definition);
/// True if the program, or a library of it, replaces operator new or delete. Its objects may lie in
/// libsmalloc's range (it calls malloc) and begin before the pointer that it hands out. All C++
/// operators are then its own.
bool operators_replaced();
/// True if the first operator delete in load order is libsmalloc's, and neither the program nor a
/// library replaces C++ operators. For objects of operator new that no module record covers.
bool deletes_reach_us();

} // namespace smalloc
#endif
