// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_perf.cpp maps an event's ring and its auxiliary area, in the range that smalloc has
// reserved (pages.h).
#include "runtime/numa/live/cpu_rings.h"
#include "runtime/numa/live/pages.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/files/system_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace smalloc::numa {
namespace {

/// Maps a part of an event's file. On failure errno has the reason.
void *map_event(int fd, size_t bytes, off_t from) {
  void *place = place_for(bytes);
  return mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, from);
}
int kernel_open_auxiliary(const perf_event_attr &attr, int cpu, RingBytes bytes, void **mapping,
                          void **aux) {
  KeepErrno keep;
  int error = 0;
  const int fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0)
    return errno;
  *mapping = map_event(fd, bytes.ring, 0);
  if (*mapping == MAP_FAILED) {
    error = errno;
  } else if (bytes.aux) {
    auto *page = static_cast<perf_event_mmap_page *>(*mapping);
    page->aux_offset = bytes.ring;
    page->aux_size = bytes.aux;
    *aux = map_event(fd, bytes.aux, static_cast<off_t>(bytes.ring));
    if (*aux == MAP_FAILED) {
      error = errno;
      munmap(*mapping, bytes.ring);
    }
  }
  ::close(fd); // the mappings keep the event
  return error;
}
int kernel_open(const perf_event_attr &attr, int cpu, size_t bytes, void **mapping) {
  return kernel_open_auxiliary(attr, cpu, {bytes, 0}, mapping, nullptr);
}
void kernel_close(void *mapping, size_t bytes) { munmap(mapping, bytes); }

} // namespace

const PerfHooks kKernelPerf = {kernel_open, kernel_close, read_system_file, kernel_open_auxiliary};

} // namespace smalloc::numa
