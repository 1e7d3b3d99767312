// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pages.cpp reserves the range that keeps smalloc's own mappings together. Places that are given
// back are not used again, so that the program's next mapping does not get one.
#include "runtime/numa/live/pages.h"
#include "smalloc/base/keep_errno.h"
#include "smalloc/base/units.h"

#include <atomic>
#include <stdint.h>
#include <sys/mman.h>

namespace smalloc::numa {
namespace {

/// Room for the counts of 100 GiB, twice over because tables double, and for the plan. Only
/// addresses are reserved.
constexpr size_t kRangeBytes = size_t{1} << 30;
constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uintptr_t g_start;
std::atomic<size_t> g_used{0};

} // namespace

bool keep_together() {
  KeepErrno keep;
  void *p = mmap(nullptr, kRangeBytes, PROT_NONE, kReserved, -1, 0);
  g_start = p == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(p);
  g_used = 0;
  return g_start != 0;
}

void *place_for(size_t bytes) {
  const size_t whole = align_up(bytes, kBasePageBytes);
  if (!g_start || whole > kRangeBytes)
    return nullptr;
  const size_t at = g_used.fetch_add(whole);
  return at <= kRangeBytes - whole ? reinterpret_cast<void *>(g_start + at) : nullptr;
}

void *map_pages(size_t bytes) {
  KeepErrno keep;
  void *place = place_for(bytes);
  void *p = mmap(place, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);
  if (p != MAP_FAILED)
    madvise(p, bytes, MADV_NOHUGEPAGE);
  return p == MAP_FAILED ? nullptr : p;
}

void unmap_pages(void *p, size_t bytes) {
  KeepErrno keep;
  if (g_start && reinterpret_cast<uintptr_t>(p) - g_start < kRangeBytes)
    mmap(p, bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  else
    munmap(p, bytes);
}

} // namespace smalloc::numa
