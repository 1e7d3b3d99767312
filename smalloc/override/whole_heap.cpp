// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// whole_heap.cpp implements the calls that describe or trim "the heap" for two allocators in a
// process: the next allocator's result plus libsmalloc's. mallopt is not intercepted: its
// parameters are glibc's own.
#include "smalloc/core/runtime.h"
#include "smalloc/include/smalloc/smalloc.h"
#include "smalloc/override/next.h"
#include "smalloc/stats/stats.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

using smalloc::g_runtime;

namespace smalloc {
namespace {
constinit NextFunction<struct mallinfo2()> next_mallinfo2("mallinfo2");
constinit NextFunction<int(size_t)> next_malloc_trim("malloc_trim");
constinit NextFunction<void()> next_malloc_stats("malloc_stats");
constinit NextFunction<int(int, FILE *)> next_malloc_info("malloc_info");

struct Ours {
  uint64_t small_live, small_mapped, big_count, big_live;
};
/// Returns libsmalloc's part. All zero before the heaps start: a query must not start them.
Ours ours() {
  Ours o = {};
  if (!g_runtime.running())
    return o;
  smalloc_statistics s = {};
  s.bytes = sizeof s;
  fill_statistics(s);
  o.small_live = s.small_live_bytes;
  // The footprint counts pages in use. Live bytes include threads' caches and may exceed it.
  o.small_mapped = max_of<uint64_t>(s.small_footprint_bytes, s.small_live_bytes);
  o.big_count = s.big_objects_now;
  o.big_live = s.big_bytes_now;
  return o;
}
int saturated(size_t n) { return n > INT_MAX ? INT_MAX : static_cast<int>(n); }
} // namespace
} // namespace smalloc

/// libsmalloc's small objects count as heap (arena, uordblks, fordblks), big ones as mapped (hblks,
/// hblkhd).
SMALLOC_EXPORT struct mallinfo2 mallinfo2(void) {
  auto *f = smalloc::next_mallinfo2.get();
  struct mallinfo2 info = {};
  if (f)
    info = f();
  smalloc::Ours o = smalloc::ours();
  info.arena += o.small_mapped;
  info.uordblks += o.small_live;
  info.fordblks += o.small_mapped - o.small_live;
  info.hblks += o.big_count;
  info.hblkhd += o.big_live;
  return info;
}
/// The old form has int members. glibc's values wrap, libsmalloc's stop at INT_MAX.
SMALLOC_EXPORT struct mallinfo mallinfo(void) {
  struct mallinfo2 m = mallinfo2();
  struct mallinfo info = {};
  info.arena = smalloc::saturated(m.arena);
  info.ordblks = smalloc::saturated(m.ordblks);
  info.smblks = smalloc::saturated(m.smblks);
  info.hblks = smalloc::saturated(m.hblks);
  info.hblkhd = smalloc::saturated(m.hblkhd);
  info.usmblks = smalloc::saturated(m.usmblks);
  info.fsmblks = smalloc::saturated(m.fsmblks);
  info.uordblks = smalloc::saturated(m.uordblks);
  info.fordblks = smalloc::saturated(m.fordblks);
  info.keepcost = smalloc::saturated(m.keepcost);
  return info;
}

/// Returns 1 if one of the allocators released memory, like glibc.
SMALLOC_EXPORT int malloc_trim(size_t pad) {
  bool released = g_runtime.trim() != 0;
  auto *f = smalloc::next_malloc_trim.get();
  if (f && f(pad))
    released = true;
  return released;
}

SMALLOC_EXPORT void malloc_stats(void) {
  if (auto *f = smalloc::next_malloc_stats.get())
    f();
  if (g_runtime.running())
    smalloc_stats_print(STDERR_FILENO);
}

/// Writes glibc's document with one more element, so that its present readers still work.
SMALLOC_EXPORT int malloc_info(int options, FILE *stream) {
  auto *f = smalloc::next_malloc_info.get();
  if (f && (options != 0 || !g_runtime.running()))
    return f(options, stream);
  if (options != 0) {
    errno = EINVAL;
    return EINVAL;
  }
  char *text = nullptr;
  size_t size = 0;
  FILE *copy = open_memstream(&text, &size);
  if (!copy)
    return -1;
  int status = f ? f(options, copy) : 0;
  if (fclose(copy) != 0 || status != 0) {
    free(text);
    return status ? status : -1;
  }
  static const char kEnd[] = "</malloc>\n";
  constexpr size_t kEndBytes = sizeof kEnd - 1;
  if (f && size >= kEndBytes && strcmp(text + size - kEndBytes, kEnd) == 0)
    fwrite(text, 1, size - kEndBytes, stream);
  else
    fputs("<malloc version=\"1\">\n", stream);
  smalloc::Ours o = smalloc::ours();
  fprintf(stream,
          "<smalloc version=\"" SMALLOC_VERSION "\">\n"
          "<total type=\"small\" size=\"%llu\"/>\n<total type=\"small-mapped\" size=\"%llu\"/>\n"
          "<total type=\"big\" count=\"%llu\" size=\"%llu\"/>\n</smalloc>\n%s",
          static_cast<unsigned long long>(o.small_live),
          static_cast<unsigned long long>(o.small_mapped),
          static_cast<unsigned long long>(o.big_count), static_cast<unsigned long long>(o.big_live),
          kEnd);
  free(text);
  return ferror(stream) ? -1 : 0;
}
