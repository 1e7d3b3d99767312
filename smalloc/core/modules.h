// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.h decides which linked images may use our heaps. Each image compiled with the plugin
// registers a record of the free, realloc and operator delete that *it* resolves; an image whose
// are not ours would hand our pointers to an allocator that does not know them, so its cells are
// set to "the program's malloc".
#ifndef SMALLOC_CORE_MODULES_H
#define SMALLOC_CORE_MODULES_H

#include "smalloc/include/smalloc/site.h"

#include <stdint.h>

namespace smalloc {

/// Our own definitions, told by override/ (a name of ours, looked up, may be somebody else's).
struct OwnFunctions {
  void *free, *realloc, *operator_delete;
  void *visible_free, *visible_realloc, *visible_delete; ///< what our own references resolve to
};
extern OwnFunctions g_own;
/// The program's free is somebody else's, who comes before us: what its malloc gives, only that free knows.
inline bool another_free_is_first() { return g_own.visible_free != g_own.free; }

void module_register(smalloc_module *module);
void module_unregister(smalloc_module *module);
/// Who owns free in this process? nullptr: we do. "": a second copy of ours does (silence). Else a
/// text for a warning.
const char *modules_who_owns_free();

/// Calls visit(site, cell) for each rewritten site of each registered image. The lock is held:
/// visit must not allocate.
void modules_for_each_site(void (*visit)(const smalloc_site *, smalloc_cell *, void *), void *data);
void for_each_site_of(const smalloc_module &module,
                      void (*visit)(const smalloc_site *, smalloc_cell *, void *), void *data);
/// Has an image with sites been registered?
bool modules_seen();
/// Has a directive named this page size for a site of a registered image, or a profile when it was compiled?
bool modules_name_page(unsigned page_shift);
/// The agent has decided anew.
void modules_obey_directives();
/// A string of a record, "" when absent.
const char *site_string(const smalloc_site *site, uint32_t offset);

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

void modules_lock();
void modules_unlock();

} // namespace smalloc
#endif
