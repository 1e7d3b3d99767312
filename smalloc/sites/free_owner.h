// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// free_owner.h finds out which definition of free, realloc and operator delete an image reaches. If an
// image's free is not libsmalloc's, it would pass libsmalloc pointers to a foreign allocator.
#ifndef SMALLOC_SITES_FREE_OWNER_H
#define SMALLOC_SITES_FREE_OWNER_H

#include <stdint.h>

namespace smalloc {

/// libsmalloc's own definitions, set by override/ (looked up by name they may be a foreign allocator's).
struct OwnFunctions {
  void *free, *realloc, *operator_delete;
  void *visible_free, *visible_realloc, *visible_delete; ///< what our own references resolve to
};
extern OwnFunctions g_own;
/// The program's free is somebody else's, who comes before us: what its malloc gives, only that free knows.
inline bool another_free_is_first() { return g_own.visible_free != g_own.free; }

/// True if `address`, which an image calls by the name `name`, is libsmalloc's definition `own`.
bool reaches_ours(void *address, void *own, const char *name);
/// Who owns free in this process? nullptr: we do. "": a second copy of ours does (silence). Else a
/// text for a warning.
const char *modules_who_owns_free();

/// Who defines the C++ operators behind us, that is, who is called when we pass a call on?
enum class Behind : uint8_t {
  kUnknown,   ///< nobody, so far: a C++ runtime may be loaded later
  kRuntime,   ///< the C++ runtime library's, which end in malloc and free
  kAllocator, ///< a peer's: its image defines malloc, too
  kReplaced,  ///< the program's, on purpose: to count, or from a pool
};
Behind who_is_behind(void *definition);
/// The program, or a library of it, replaces operator new or delete. Its objects may lie in our range (it
/// calls malloc) and begin before the pointer that it hands out: all C++ operators are its own then.
bool operators_replaced();
/// Does an operator delete of the executable reach ours? Asked for objects of operator new that no
/// module record stands for.
bool deletes_reach_us();

} // namespace smalloc
#endif
