// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program_heap.h decides which memory counts as the heap of the program's own malloc: what lies below
// the break, where glibc keeps the objects of its main arena.
#ifndef SMALLOC_OS_PROGRAM_HEAP_H
#define SMALLOC_OS_PROGRAM_HEAP_H

#include "smalloc/os/os_hooks.h"

namespace smalloc {

struct ProgramHeap {
  char *start = nullptr, *end = nullptr;
};
/// False: the process has none, or the kernel does not tell. Keeps nothing: asked again, it may have
/// grown or shrunk.
bool program_heap(const OsHooks &os, ProgramHeap &heap);
/// Its end alone, without a question to the kernel.
uintptr_t program_heap_end();

} // namespace smalloc
#endif
