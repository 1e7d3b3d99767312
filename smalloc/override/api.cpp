// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// api.cpp implements the public C interface (smalloc.h). It falls back to the program's malloc, so
// that a page kind never makes a program fail. It also contains the library's constructor and
// destructor.
#include "smalloc/core/runtime.h"
#include "smalloc/files/quiet_file.h"
#include "smalloc/files/start_stderr.h"
#include "smalloc/os/own_madvise.h"
#include "smalloc/os/own_stack.h"
#include "smalloc/override/foreign.h"
#include "smalloc/pages/data_limit.h"
#include "smalloc/pages/image_superpages.h"
#include "smalloc/process/image_segments.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/process/own_sandbox.h"
#include "smalloc/sites/free_owner.h"
#include "smalloc/stats/stats.h"
#include "smalloc/stats/stats_exit.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

using smalloc::g_range;
using smalloc::g_runtime;
using smalloc::kMallocAlignment;

namespace {
constexpr size_t kMostAlignment = size_t{1} << 30;

void write_to_fd(const char *text, size_t bytes, void *data) {
  smalloc::write_all_quietly(*static_cast<int *>(data), text, bytes);
}

/// Prints on a stack of libsmalloc's own, with signals allowed: the reader at the other end may be
/// slow.
template <class Print> void print_on_own_stack(Print print) {
  smalloc::on_own_stack(print, smalloc::Signals::kAllowed);
}

/// Allocates an object, or falls back to the process' own function names. These lead to libsmalloc,
/// or to an allocator that comes before it and then owns malloc and free. `zero` requires
/// kMallocAlignment.
void *allocate(size_t bytes, size_t alignment, bool zero, smalloc_pages pages) {
  int saved = errno;
  void *p = nullptr;
  if (bytes <= PTRDIFF_MAX)
    p = g_runtime.kind_allocate(bytes, alignment, zero, pages);
  if (!p && bytes <= PTRDIFF_MAX) {
    if (alignment > kMallocAlignment)
      p = posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
    else
      p = zero ? calloc(1, bytes) : malloc(bytes);
  }
  errno = p ? saved : ENOMEM;
  return p;
}

/// True if malloc_usable_size accepts the objects of malloc. An allocator before libsmalloc may not
/// define it. The call then reaches another allocator, to which these objects are foreign.
bool next_knows_sizes() {
  return !smalloc::another_free_is_first() ||
         smalloc::image_defines(smalloc::g_own.visible_free, "malloc_usable_size");
}
} // namespace

SMALLOC_EXPORT void *smalloc_malloc(size_t bytes, smalloc_pages pages) {
  return allocate(bytes, kMallocAlignment, false, pages);
}
// The C name; in this file it is a namespace.
SMALLOC_EXPORT void *smalloc_c_name(size_t, smalloc_pages) __asm__("smalloc")
    __attribute__((alias("smalloc_malloc")));
SMALLOC_EXPORT void *scalloc(size_t count, size_t bytes, smalloc_pages pages) {
  size_t total;
  if (__builtin_mul_overflow(count, bytes, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(total, kMallocAlignment, true, pages);
}
SMALLOC_EXPORT void *smemalign(size_t alignment, size_t bytes, smalloc_pages pages) {
  if (!smalloc::is_power_of_two(alignment) || alignment > kMostAlignment) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate(bytes, smalloc::max_of(alignment, kMallocAlignment), false, pages);
}
SMALLOC_EXPORT void *srealloc(void *p, size_t bytes) {
  if (!p)
    return smalloc_malloc(bytes, SMALLOC_BOTH);
  if (bytes == 0) {
    sfree(p);
    return nullptr;
  }
  if (g_range.contains(p))
    return g_runtime.resize(p, bytes, true);
  const int saved = errno;
  void *r = realloc(p, bytes);
  errno = r ? saved : ENOMEM;
  return r;
}
SMALLOC_EXPORT void sfree(void *p) {
  int saved = errno;
  if (g_range.contains(p))
    g_runtime.release(p);
  else
    free(p);
  errno = saved;
}
SMALLOC_EXPORT size_t smalloc_usable_size(const void *p) {
  if (g_range.contains(p))
    return g_runtime.usable_bytes(p);
  return p && next_knows_sizes() ? malloc_usable_size(const_cast<void *>(p)) : 0;
}
SMALLOC_EXPORT int smalloc_is_ours(const void *p) { return g_range.contains(p); }

SMALLOC_EXPORT int smalloc_heap_freeze(void) {
  if (!g_runtime.ready()) {
    errno = ENOTSUP;
    return -1;
  }
  return g_runtime.freeze_class_heap();
}
SMALLOC_EXPORT long smalloc_heap_migrate(void) {
  if (!g_runtime.ready()) {
    errno = ENOTSUP;
    return -1;
  }
  return g_runtime.migrate_class_heap();
}
SMALLOC_EXPORT size_t smalloc_trim(void) { return g_runtime.trim(); }
// Replaced by libsmalloc_feedback's function where that library is loaded.
SMALLOC_EXPORT void smalloc_phase(const char *) {}
SMALLOC_EXPORT void smalloc_stats(smalloc_statistics *statistics) {
  smalloc::fill_statistics(*statistics);
}
SMALLOC_EXPORT void smalloc_stats_print(int fd) {
  int saved = errno;
  print_on_own_stack([&] { smalloc::print_statistics({write_to_fd, &fd}); });
  errno = saved;
}
SMALLOC_EXPORT void smalloc_stats_print_json(int fd) {
  int saved = errno;
  print_on_own_stack([&] { smalloc::print_statistics_json({write_to_fd, &fd}); });
  errno = saved;
}
SMALLOC_EXPORT void smalloc_jemalloc_stats_print(int fd, const char *options) {
  int saved = errno;
  print_on_own_stack([&] { smalloc::print_jemalloc_statistics({write_to_fd, &fd}, options); });
  errno = saved;
}
SMALLOC_EXPORT const char *smalloc_version(void) { return SMALLOC_VERSION; }

namespace {
/// Reports under debug: that libsmalloc is present. The heaps report themselves when they start.
void say_that_we_are_there() {
  if (!g_runtime.options().debug || g_runtime.running())
    return;
  smalloc::TextBuffer<160> text;
  text.put("smalloc: debug: version " SMALLOC_VERSION ", strategy ")
      .put(smalloc::strategy_name(static_cast<uint32_t>(g_runtime.strategy())))
      .put(g_runtime.strategy() == smalloc::HeapStrategy::kOff
               ? "; the heaps never start\n"
               : "; the heaps start with the first object for them\n");
  smalloc::kLinux.write_error(text.data(), text.size());
}

bool has_to_report(const smalloc::Options &o) {
  return o.stats_at_exit || o.debug || o.validate || *o.directives;
}

__attribute__((destructor(101))) void end() {
  if (has_to_report(g_runtime.options()))
    print_on_own_stack([] {
      smalloc::statistics_end();
      g_runtime.agent_end();
    });
  // Skip the check while other threads run: they may be inside the heaps.
  if (g_runtime.options().debug && g_runtime.running() && smalloc::thread_count() == 1 &&
      !(g_runtime.big().check_invariants() &&
        (!smalloc::g_small.ready() || smalloc::g_small.main_pages().check_invariants())))
    g_runtime.warn("debug: the heaps' tables contradict each other");
}

__attribute__((constructor(101))) void begin() {
  smalloc::remember_start_stderr();
  smalloc::remember_start_filter();
  g_runtime.install_fork_handlers();
  smalloc::remember_start_images();
  if (!smalloc::g_small.ready())
    smalloc::set_table_aside();
  if (g_runtime.options().only_advised && smalloc::kLinux.only_advised_superpages() != 0)
    g_runtime.warn("only-advised: the kernel cannot restrict superpages to advised memory (Linux "
                   "6.18 can); under THP=always other memory of the program gets superpages, too");
  const smalloc::Options &o = g_runtime.options();
  if (has_to_report(o))
    at_quick_exit(end); // quick_exit runs no destructors
  say_that_we_are_there();
  smalloc::statistics_begin();
  const bool had_heaps = g_runtime.region().bytes() != 0; // an early allocation started them
  smalloc::image_superpages_at_start(g_runtime.options(), smalloc::kLinux, g_runtime.counters(),
                                     [](smalloc::Text text) { g_runtime.warn(text); });
  if (had_heaps)
    g_runtime.region().charge_unasked(g_runtime.image_superpages());
}
} // namespace
