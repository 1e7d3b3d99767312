// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_table.cpp decides how the table lies in memory.
#include "runtime/trace/region_table.h"

#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/access.h"

#include <errno.h>
#include <sys/mman.h>

namespace smalloc::trace {
namespace {

// In front for an index that is negative, behind for an object that crosses the last address.
constexpr uint64_t kMargin = kBasePageBytes;
constexpr uint64_t kBytes = SMALLOC_REGION_ENTRIES + 2 * kMargin;
// Far from where the kernel puts what has no place: the program's own memory lies where it lies without the table, which a replay
// (smalloc numa replay) needs. If something is there, anywhere.
constexpr uintptr_t kWished = 0x2a0000000000;

uint8_t *g_table;
bool g_refused;

} // namespace

uint8_t *region_table() {
  if (g_table || g_refused)
    return g_table;
  const int kept_errno = errno;
  void *memory = mmap(reinterpret_cast<void *>(kWished), kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    g_refused = true;
  } else {
    madvise(memory, kBytes, MADV_NOHUGEPAGE); // a few bytes of it are used
    g_table = static_cast<uint8_t *>(memory) + kMargin;
  }
  errno = kept_errno;
  return g_table;
}

void forget_regions() {
  if (!g_table)
    return;
  const int kept_errno = errno;
  madvise(g_table - kMargin, kBytes, MADV_DONTNEED);
  errno = kept_errno;
}

void find_out_region(const uint8_t *entry, uint64_t (*threshold)()) {
  if (!g_table || entry < g_table - kMargin || entry >= g_table + SMALLOC_REGION_ENTRIES + kMargin)
    return;
  const auto region =
      static_cast<uint64_t>(entry - g_table); // of the margin in front: wraps, as addresses do
  const uint64_t here = region << SMALLOC_REGION_SHIFT, behind = (region + 1)
                                                                 << SMALLOC_REGION_SHIFT;
  for (uint64_t t = threshold();;) {
    const bool quiet = SMALLOC_REGION_HASH(here) >= t && SMALLOC_REGION_HASH(behind) >= t;
    __atomic_store_n(&g_table[static_cast<int64_t>(region)],
                     static_cast<uint8_t>(quiet ? SMALLOC_REGION_QUIET : SMALLOC_REGION_QUIET + 1),
                     __ATOMIC_RELAXED);
    const uint64_t now = threshold();
    if (now == t)
      return;
    t = now;
  }
}

} // namespace smalloc::trace
