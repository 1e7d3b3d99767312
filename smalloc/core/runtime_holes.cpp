// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runtime_holes.cpp decides what is done about memory of the program's malloc that is resident and free while sites are ours:
// whole pages go back to the system, and other holes are filled, as long as malloc has any that fit.
#include "smalloc/base/keep_errno.h"
#include "smalloc/core/malloc_holes.h"
#include "smalloc/core/runtime.h"
#include "smalloc/os/program_heap.h"
#include <stdlib.h>
#include <string.h>

/// glibc's; weak: other C libraries have none.
extern "C" int malloc_trim(size_t pad) __attribute__((weak));

namespace smalloc {

uint64_t resident_bytes(const OsHooks &os) {
  char text[128];
  if (os.read_file("/proc/self/statm", text, sizeof text) <= 0)
    return 0;
  const char *resident = strchr(text, ' ');
  return resident ? strtoull(resident, nullptr, 10) * kBasePageBytes : 0;
}

/// What sites got before they were served lies in the heap of the program's malloc. When it dies, nobody fills the holes:
/// new objects come from us. So pages that have become free there go back to the system: asked each time that the sites
/// have got twice as much from us, from 8 MiB on.
void Runtime::trim_program_heap() {
  constexpr uint64_t kFirst =
      (uint64_t{8} << 20) / (SiteSizes::kSampleBytes * SiteSizes::kSamplesPerLook);
  const uint64_t looks = served_looks_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (looks < kFirst || !is_power_of_two(looks) || !malloc_trim)
    return;
  KeepErrno keep;
  trim_now();
}

void Runtime::trim_now() {
  const uint64_t before = resident_bytes(kLinux);
  counters().heap_trims.add(malloc_trim(0) != 0);
  const uint64_t after = resident_bytes(kLinux);
  g_malloc_holes.given_back(before > after ? before - after : 0);
}

/// Would malloc put such an object into a hole? What the thread has just freed comes first and says nothing; after that it
/// takes places in holes, or new memory: the next page has never been touched then. Below the break new memory lies at
/// its end; a page elsewhere that is not resident has been given back.
static bool has_place(const OsHooks &os, size_t bytes) {
  constexpr unsigned kProbes = 16;
  constexpr size_t kProbeBytes = size_t{32} << 10, kEnd = size_t{256} << 10,
                   kMostHeap = size_t{1} << 40;
  void *probe[kProbes] = {};
  unsigned n = 0;
  for (size_t taken = 0; n < kProbes && taken < kProbeBytes; taken += bytes, n++)
    if (!(probe[n] = g_next.malloc(bytes)))
      break;
  bool has = false;
  if (n) {
    const auto last = reinterpret_cast<uintptr_t>(probe[n - 1]), end = program_heap_end();
    const uintptr_t next = align_up(last + bytes + 32, kBasePageBytes);
    has = (last < end && end - last > kEnd && end - last < kMostHeap) ||
          os.resident_pages(reinterpret_cast<void *>(next), kBasePageBytes) != 0;
  }
  while (n)
    g_next.free(probe[--n]);
  return has;
}

/// Much has been freed there: perhaps whole pages. Asking takes malloc time, which is kept to 1 %.
void Runtime::trim_holes() {
  const uint64_t began = kLinux.now_ns();
  uint64_t due = next_trim_ns_.load(std::memory_order_relaxed);
  if (!malloc_trim || !g_malloc_holes.trim_is_due() || began < due ||
      !next_trim_ns_.compare_exchange_strong(due, UINT64_MAX, std::memory_order_relaxed))
    return;
  trim_now();
  const uint64_t ended = kLinux.now_ns();
  next_trim_ns_.store(ended + 100 * (ended - began), std::memory_order_relaxed);
}

/// Has clearly more been freed there than it has ever held? Then others go on asking there. What only dies there leaves pages that
/// empty one by one, if nobody puts a new object between the last old ones.
/// Looked at each time that a sixteenth more has been freed.
static bool lives_on(const OsHooks &os, uint64_t freed) {
  static std::atomic<uint64_t> most{0}, next{0};
  static std::atomic<bool> does{false};
  ProgramHeap heap;
  if (freed >= next.load(std::memory_order_relaxed) && program_heap(os, heap)) {
    const uint64_t held =
        max_of(most.load(std::memory_order_relaxed), static_cast<uint64_t>(heap.end - heap.start));
    most.store(held, std::memory_order_relaxed);
    next.store(freed + freed / 16, std::memory_order_relaxed);
    does.store(freed > 2 * held, std::memory_order_relaxed);
  }
  return does.load(std::memory_order_relaxed);
}

/// Shall a site, whose objects have so many bytes, fill malloc's holes for now? Asked once in 64 KiB of what it requests.
bool Runtime::fills_holes(smalloc_cell *cell, size_t bytes) {
  const uint64_t ours = g_small.main_pages().live_bytes();
  const size_t place = glibc_place_bytes(bytes);
  if (!g_malloc_holes.wanted(ours) ||
      !g_malloc_holes.fit(place, ours, g_site_sizes.is_filling(cell)) ||
      g_malloc_holes.freed() < g_site_sizes.no_place_until(cell))
    return false;
  KeepErrno keep;
  if (!g_malloc_holes.are_of(bytes) && !lives_on(kLinux, g_malloc_holes.freed()))
    return false;
  trim_holes();
  if (!g_malloc_holes.wanted(ours))
    return false;
  if (has_place(kLinux, bytes))
    return true;
  g_site_sizes.set_no_place(cell, g_malloc_holes.no_place(ours, 1, place));
  return false;
}

/// Threads that share a site have heaps of their own in malloc, and each its own holes there, which a processor lets it make and
/// fill in turns of many thousand objects. So the site goes on being served, and a thread that has made holes fills as many of
/// them. Holes that others have made in its heap are filled little by little, while all together are too many.
bool Runtime::may_fill_alone(const smalloc_cell *cell, size_t bytes) {
  if (!g_malloc_holes.are_of(bytes))
    return false;
  const uint64_t ours = g_small.main_pages().live_bytes(), place = glibc_place_bytes(bytes);
  const bool again = t_small.fill_place == place;
  t_small.fill_place = 0;
  const uint64_t objects =
      g_malloc_holes.may_fill(t_small.own_holes, again, t_small.no_place_until, ours) / place;
  if (objects == 0)
    return false;
  KeepErrno keep;
  trim_holes();
  if (!has_place(kLinux, bytes)) {
    t_small.own_holes = 0;
    t_small.no_place_until = g_malloc_holes.no_place(ours, g_small.threads(), place);
    return false;
  }
  g_malloc_holes.filled(objects * place, place);
  t_small.own_holes -= min_of(t_small.own_holes, objects * place);
  t_small.fill_objects = static_cast<unsigned>(objects);
  t_small.fill_place = static_cast<unsigned>(place);
  t_small.fill_cell = cell;
  t_small.direct_bytes = 0; // every request is looked at
  t_small.direct_armed = false;
  return true;
}

/// The thread fills holes: does this request go there, too?
bool Runtime::fills_alone(const smalloc_cell *cell, uint64_t word, size_t bytes) {
  if (bytes >= MallocHoles::kMappedBytes || glibc_place_bytes(bytes) != t_small.fill_place ||
      !(SMALLOC_WORD_FLAGS(word) & SMALLOC_CELL_SERVED) || !may_fill(word))
    return false;
  return --t_small.fill_objects != 0 || may_fill_alone(cell, bytes);
}

} // namespace smalloc
