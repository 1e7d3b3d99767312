// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// own_image.cpp drops pages of libsmalloc's own file. It drops only pages of read-only segments, so
// that nothing is lost. In a static program it drops only the section of cold code that
// private_jemalloc.sh makes, because the program's other pages are not libsmalloc's.
#include "smalloc/process/own_image.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"
#include "smalloc/os/own_madvise.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

extern "C" {
#ifdef SMALLOC_STATIC
extern const char __start_jepriv_cold_text[] __attribute__((visibility("hidden")));
extern const char __stop_jepriv_cold_text[] __attribute__((visibility("hidden")));
#else
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); // defined by the linker
#endif
}

namespace smalloc {
namespace {
void drop(uintptr_t start, uintptr_t stop) {
  start = align_up(start, kBasePageBytes);
  stop = align_down(stop, kBasePageBytes);
  if (start < stop)
    own_madvise(reinterpret_cast<void *>(start), stop - start, MADV_DONTNEED);
}
#ifndef SMALLOC_STATIC
/// Makes a separate mapping of a range that nothing reads any more, so that it does not come back
/// with its neighbours. (MADV_DONTDUMP changes nothing else here: core dumps omit file pages
/// anyway.)
void set_apart(uintptr_t start, uintptr_t stop) {
  start = align_up(start, kBasePageBytes);
  stop = align_down(stop, kBasePageBytes);
  if (start < stop)
    own_madvise(reinterpret_cast<void *>(start), stop - start, MADV_DONTDUMP);
}

/// Separates the relocations, which the loader has applied, and the unwind tables, which follow the
/// constants.
void set_tables_apart(uintptr_t base, const ElfW(Phdr) * segment, unsigned count) {
  uintptr_t relocations = 0, relocations_end = 0, unwinding = 0;
  for (unsigned i = 0; i < count; i++) {
    if (segment[i].p_type == PT_GNU_EH_FRAME)
      unwinding = base + segment[i].p_vaddr;
    if (segment[i].p_type != PT_DYNAMIC)
      continue;
    auto *entry = reinterpret_cast<const ElfW(Dyn) *>(base + segment[i].p_vaddr);
    size_t bytes = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_RELA)
        relocations = entry->d_un.d_ptr;
      else if (entry->d_tag == DT_RELASZ)
        bytes = entry->d_un.d_val;
    }
    if (relocations && relocations < base) // not relocated: the value is as in the file
      relocations += base;
    relocations_end = relocations + bytes;
  }
  for (unsigned i = 0; i < count; i++) {
    const uintptr_t start = base + segment[i].p_vaddr, stop = start + segment[i].p_memsz;
    if (segment[i].p_type != PT_LOAD || segment[i].p_flags != PF_R)
      continue;
    if (relocations >= start && relocations_end <= stop)
      set_apart(relocations, relocations_end);
    if (unwinding >= start && unwinding < stop)
      set_apart(unwinding, stop);
  }
}
#endif
} // namespace

void drop_own_file_pages() {
  KeepErrno keep;
#ifdef SMALLOC_STATIC
  drop(reinterpret_cast<uintptr_t>(__start_jepriv_cold_text),
       reinterpret_cast<uintptr_t>(__stop_jepriv_cold_text));
#else
  auto base = reinterpret_cast<uintptr_t>(&__ehdr_start);
  // Copy the headers first: they are dropped with the first segment.
  constexpr unsigned kMostSegments = 16;
  ElfW(Phdr) segment[kMostSegments];
  const unsigned count = min_of<unsigned>(__ehdr_start.e_phnum, kMostSegments);
  memcpy(segment, reinterpret_cast<const void *>(base + __ehdr_start.e_phoff),
         count * sizeof *segment);
  set_tables_apart(base, segment, count);
  for (unsigned i = 0; i < count; i++) {
    const ElfW(Phdr) &s = segment[i];
    if (s.p_type == PT_LOAD && !(s.p_flags & PF_W))
      drop(base + align_down(s.p_vaddr, kBasePageBytes), base + s.p_vaddr + s.p_memsz);
  }
#endif
}

} // namespace smalloc
