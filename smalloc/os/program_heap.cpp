// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// program_heap.cpp decides to learn the heap's start from /proc/self/stat (proc(5), field 47,
// start_brk): the executable's own end is not it where addresses are random.
#include "smalloc/os/program_heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace smalloc {
namespace {
constexpr int kStartOfBreak = 47, kAfterName = 3;
}

bool program_heap(const OsHooks &os, ProgramHeap &heap) {
  char text[1024];
  if (os.read_file("/proc/self/stat", text, sizeof text) <= 0)
    return false;
  const char *field = strrchr(text, ')'); // the name before it may hold anything
  for (int i = kAfterName; field && i <= kStartOfBreak; i++) {
    field = strchr(field, ' ');
    field += field != nullptr;
  }
  const uint64_t start = field ? strtoull(field, nullptr, 10) : 0;
  heap.start = reinterpret_cast<char *>(start);
  heap.end = static_cast<char *>(sbrk(0));
  return start != 0 && heap.start < heap.end;
}

uintptr_t program_heap_end() { return reinterpret_cast<uintptr_t>(sbrk(0)); }

} // namespace smalloc
