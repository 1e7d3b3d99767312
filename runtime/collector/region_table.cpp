// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// region_table.cpp maps the table read-only as a whole. It makes a page writable when the first
// byte in it is filled in.
#include "runtime/collector/region_table.h"

#include "smalloc/base/units.h"
#include "smalloc/include/smalloc/access.h"

#include <atomic>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace smalloc::trace {
namespace {

// Bytes before the table for a negative index, and behind it for an object that crosses the last
// address.
constexpr uint64_t kMargin = kBasePageBytes;
constexpr uint64_t kBytes = SMALLOC_REGION_ENTRIES + 2 * kMargin;
// Preferred address, far from where the kernel places mappings without one. The program's own
// memory then lies where it would lie without the table, which a replay (smalloc numa replay)
// needs. If the place is taken, the kernel chooses another.
constexpr uintptr_t kWished = 0x2a0000000000;

// Least limit of addresses (RLIMIT_AS) for a table. Lower limits have been set with the program's
// own needs in mind.
constexpr rlim_t kRoomForATable = 64 * kBytes;

constexpr uint64_t kPages = kBytes / kBasePageBytes;

uint8_t *g_table;
bool g_refused;
// Bitmap of the table's pages that have been made writable.
std::atomic<uint64_t> g_writable[kPages / 64 + 1];
// Orders filling in against forgetting. A thread passes here after it has filled in a byte, and
// before it forgets the bytes for a new threshold. So either the first sees the new threshold, or
// the other clears the byte.
std::atomic<uint64_t> g_changes{0};

bool leaves_room() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kRoomForATable;
}

// Makes the table's page of `entry` writable. Only pages that are written to (one for 8 GiB of
// addresses) are. The rest neither counts as the program's data nor becomes resident in a program
// that locks its memory (mlockall).
bool make_writable(uint8_t *entry) {
  uint8_t *const base = g_table - kMargin;
  const uint64_t page = static_cast<uint64_t>(entry - base) / kBasePageBytes;
  const uint64_t bit = uint64_t{1} << page % 64;
  if (g_writable[page / 64].load(std::memory_order_acquire) & bit)
    return true;
  const int kept_errno = errno;
  const bool done =
      mprotect(base + page * kBasePageBytes, kBasePageBytes, PROT_READ | PROT_WRITE) == 0;
  errno = kept_errno;
  if (done)
    g_writable[page / 64].fetch_or(bit, std::memory_order_release);
  return done;
}

} // namespace

uint8_t *region_table() {
  if (g_table || g_refused)
    return g_table;
  const int kept_errno = errno;
  void *memory = MAP_FAILED;
  if (leaves_room())
    memory = mmap(reinterpret_cast<void *>(kWished), kBytes, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    g_refused = true;
  } else {
    madvise(memory, kBytes, MADV_NOHUGEPAGE); // only a few of its bytes are used
    g_table = static_cast<uint8_t *>(memory) + kMargin;
  }
  errno = kept_errno;
  return g_table;
}

// Clears byte by byte, since other threads read the table; locked memory cannot be given back.
void forget_regions() {
  if (!g_table)
    return;
  g_changes.fetch_add(1, std::memory_order_acq_rel);
  for (uint64_t page = 0; page < kPages; page++)
    if (g_writable[page / 64].load(std::memory_order_acquire) >> page % 64 & 1)
      for (uint64_t i = 0; i < kBasePageBytes; i++)
        __atomic_store_n(g_table - kMargin + page * kBasePageBytes + i, SMALLOC_REGION_UNKNOWN,
                         __ATOMIC_RELAXED);
}

void find_out_region(const uint8_t *entry, uint64_t (*threshold)()) {
  if (!g_table || entry < g_table - kMargin || entry >= g_table + SMALLOC_REGION_ENTRIES + kMargin)
    return;
  if (!make_writable(const_cast<uint8_t *>(entry)))
    return; // stays unknown; the next access retries
  const auto region =
      static_cast<uint64_t>(entry - g_table); // wraps in the front margin, as addresses do
  const uint64_t here = region << SMALLOC_REGION_SHIFT, behind = (region + 1)
                                                                 << SMALLOC_REGION_SHIFT;
  for (uint64_t t = threshold();;) {
    const bool quiet = SMALLOC_REGION_HASH(here) >= t && SMALLOC_REGION_HASH(behind) >= t;
    __atomic_store_n(&g_table[static_cast<int64_t>(region)],
                     static_cast<uint8_t>(quiet ? SMALLOC_REGION_QUIET : SMALLOC_REGION_QUIET + 1),
                     __ATOMIC_RELAXED);
    g_changes.fetch_add(0, std::memory_order_acq_rel);
    const uint64_t now = threshold();
    if (now == t)
      return;
    t = now;
  }
}

} // namespace smalloc::trace
