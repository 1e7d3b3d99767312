// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// image_segments.cpp reads segments from the program headers and replaces their pages by
// superpages. The order is: copy to new pages at a private address, make them executable once they
// are no longer writable, then move them over the old pages.
#include "smalloc/process/image_segments.h"
#include "smalloc/base/units.h"
#include "smalloc/process/loaded_objects.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace smalloc {
namespace {

struct Visit {
  void (*visit)(const ImageSegment &, void *);
  void *data;
};

int visit_image(dl_phdr_info *image, size_t, void *data) {
  auto &v = *static_cast<Visit *>(data);
  const char *name = image->dlpi_name ? image->dlpi_name : "";
  if (is_loader_or_vdso(name))
    return 0;
  auto at = [&](uintptr_t address) { return reinterpret_cast<char *>(image->dlpi_addr + address); };
  char *relro_start = nullptr, *relro_end = nullptr;
  for (unsigned i = 0; i < image->dlpi_phnum; i++) {
    const ElfW(Phdr) &p = image->dlpi_phdr[i];
    if (p.p_type == PT_GNU_RELRO) {
      relro_start = at(p.p_vaddr);
      relro_end = at(align_up(p.p_vaddr + p.p_memsz, kBasePageBytes));
    }
  }
  for (unsigned i = 0; i < image->dlpi_phnum; i++) {
    const ElfW(Phdr) &p = image->dlpi_phdr[i];
    if (p.p_type != PT_LOAD || p.p_memsz == 0)
      continue;
    ImageSegment s;
    s.image = name;
    s.start = at(align_down(p.p_vaddr, kBasePageBytes));
    s.end = at(align_up(p.p_vaddr + p.p_memsz, kBasePageBytes));
    s.anonymous = at(align_up(p.p_vaddr + p.p_filesz, kBasePageBytes));
    s.writable = p.p_flags & PF_W;
    s.executable = p.p_flags & PF_X;
    if (relro_end > s.start && relro_start < s.end)
      s.start = relro_end; // RELRO precedes the part that stays writable
    if (s.start < s.end)
      v.visit(s, v.data);
  }
  return 0;
}

} // namespace

void for_each_segment(void (*visit)(const ImageSegment &, void *), void *data) {
  Visit v = {visit, data};
  dl_iterate_phdr(visit_image, &v);
}

int copy_to_superpages(char *start, size_t bytes, bool executable) {
  int saved = errno, error = 0;
  // Maps one superpage more than needed, so that an aligned range fits.
  size_t spare = bytes + kSuperpageBytes;
  void *memory = mmap(nullptr, spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    error = errno;
    errno = saved;
    return error;
  }
  auto first = reinterpret_cast<uintptr_t>(memory);
  char *copy = reinterpret_cast<char *>(align_up(first, kSuperpageBytes));
  madvise(copy, bytes, MADV_HUGEPAGE); // if refused, the copy is on base pages and works as well
  memcpy(copy, start, bytes);
  if (executable && mprotect(copy, bytes, PROT_READ | PROT_EXEC) != 0)
    error = errno; // SELinux's execmem or PaX refused
  else if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start) != start)
    error = errno;
  char *end = reinterpret_cast<char *>(first + spare);
  if (error) {
    munmap(memory, spare);
  } else {
    char *begin = static_cast<char *>(memory);
    if (copy > begin)
      munmap(begin, static_cast<size_t>(copy - begin));
    if (end > copy + bytes)
      munmap(copy + bytes, static_cast<size_t>(end - copy) - bytes);
  }
  errno = saved;
  return error;
}

unsigned thread_count() {
  int saved = errno;
  struct stat info;
  unsigned n = stat("/proc/self/task", &info) == 0 && info.st_nlink > 2
                   ? static_cast<unsigned>(info.st_nlink - 2)
                   : 0;
  errno = saved;
  return n;
}

} // namespace smalloc
