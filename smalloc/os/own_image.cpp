// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_image.cpp decides which pages of our own file may be dropped: those of segments that nobody can
// write, so that nothing is lost, and of the section of cold code that private_jemalloc.sh makes when
// we are a part of a static program, whose other pages are not ours.
#include "smalloc/os/own_image.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"

#include <link.h>
#include <sys/mman.h>

extern "C" {
#ifdef SMALLOC_STATIC
extern const char __start_jepriv_cold_text[] __attribute__((visibility("hidden")));
extern const char __stop_jepriv_cold_text[] __attribute__((visibility("hidden")));
#else
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); // the linker's
#endif
}

namespace smalloc {
namespace {
void drop(uintptr_t start, uintptr_t stop) {
  start = align_up(start, kBasePageBytes);
  stop = align_down(stop, kBasePageBytes);
  if (start < stop)
    madvise(reinterpret_cast<void *>(start), stop - start, MADV_DONTNEED);
}
} // namespace

void drop_own_file_pages() {
  KeepErrno keep;
#ifdef SMALLOC_STATIC
  drop(reinterpret_cast<uintptr_t>(__start_jepriv_cold_text),
       reinterpret_cast<uintptr_t>(__stop_jepriv_cold_text));
#else
  auto base = reinterpret_cast<uintptr_t>(&__ehdr_start);
  auto *segment = reinterpret_cast<const ElfW(Phdr) *>(base + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
    const ElfW(Phdr) &s = segment[i];
    if (s.p_type == PT_LOAD && !(s.p_flags & PF_W))
      drop(base + align_down(s.p_vaddr, kBasePageBytes), base + s.p_vaddr + s.p_memsz);
  }
#endif
}

} // namespace smalloc
