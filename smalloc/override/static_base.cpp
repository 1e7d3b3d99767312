// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// static_base.cpp defines "the next allocator" in libsmalloc.a. A static program has no other one,
// so it is a jemalloc of its own (prefix jebase_). This file also implements loaded_objects.h,
// whose questions concern images that a static program does not have. A program that defines its
// own malloc has replaced libsmalloc's at link time. Then its functions are the next ones.
#include "smalloc/base/units.h"
#include "smalloc/jemalloc/jemalloc_functions.h"
#include "smalloc/jemalloc/thread_without_cache.h"
#include "smalloc/process/loaded_objects.h"
#include "smalloc/sites/free_owner.h"

#include <bit>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
void *jebase_malloc(size_t);
void *jebase_calloc(size_t, size_t);
void *jebase_realloc(void *, size_t);
void jebase_free(void *);
void *jebase_memalign(size_t, size_t);
int jebase_posix_memalign(void **, size_t, size_t);
size_t jebase_malloc_usable_size(void *);
int jebase_mallctl(const char *, void *, size_t *, void *, size_t);
void _ZdlPv(void *);
void _ZdaPv(void *);
void _ZdlPvSt11align_val_t(void *, size_t);
void _ZdaPvSt11align_val_t(void *, size_t);
void smalloc_own_ZdaPv(void *);
void smalloc_own_ZdlPvSt11align_val_t(void *, size_t);
void smalloc_own_ZdaPvSt11align_val_t(void *, size_t);
#define SMALLOC_DECLARE(result, name, parameters) result jebase_##name parameters;
SMALLOC_JEMALLOC_FUNCTIONS(SMALLOC_DECLARE)
#undef SMALLOC_DECLARE
#define SMALLOC_DECLARE(type, name, dimension) extern type jebase_##name dimension;
SMALLOC_JEMALLOC_DATA(SMALLOC_DECLARE)
#undef SMALLOC_DECLARE
decltype(jebase_arena_palloc) jesys_arena_palloc;
decltype(jebase_arena_choose_hard) jesys_arena_choose_hard;
decltype(jebase_tsd_tcache_enabled_data_init) jesys_tsd_tcache_enabled_data_init;
/// jemalloc looks up pthread_create in the dynamic linker when it creates background threads.
void *jesys_dlsym(void *, const char *) { return nullptr; }
}

namespace smalloc {
namespace {

struct Definition {
  const char *name;
  void *base;
  void *replaced; ///< for a program that defines its own malloc; nullptr: none
};
template <class F> void *at(F *function) { return reinterpret_cast<void *>(function); }

/// A form of operator delete that other forms end in.
struct Delete {
  const char *name;
  void *visible, *own;
};
void four_deletes(Delete (&out)[4]) {
  const Delete deletes[] = {
      {"_ZdlPv", at(_ZdlPv), g_own.operator_delete},
      {"_ZdaPv", at(_ZdaPv), at(smalloc_own_ZdaPv)},
      {"_ZdlPvSt11align_val_t", at(_ZdlPvSt11align_val_t), at(smalloc_own_ZdlPvSt11align_val_t)},
      {"_ZdaPvSt11align_val_t", at(_ZdaPvSt11align_val_t), at(smalloc_own_ZdaPvSt11align_val_t)},
  };
  memcpy(out, deletes, sizeof deletes);
}

void *with_errno(void *p) {
  if (!p)
    errno = ENOMEM; // jemalloc 5.3.0 does not set it in memalign and valloc
  return p;
}
// Least size of requests. jemalloc aligns its smallest class to 8 only, and its memalign of size 0
// not at all. Its realloc to 0 keeps an object.
constexpr size_t kLeast = 16;
void *base_malloc(size_t bytes) { return jebase_malloc(max_of(bytes, kLeast)); }
void *base_calloc(size_t count, size_t bytes) { // the caller has checked the product
  return jebase_calloc(1, max_of(count * bytes, kLeast));
}
void base_free(void *p) {
  int saved = errno;
  jebase_free(p);
  errno = saved;
}
void *base_realloc(void *p, size_t bytes) {
  if (bytes)
    return with_errno(jebase_realloc(p, max_of(bytes, kLeast)));
  if (!p)
    return base_malloc(0);
  base_free(p);
  return nullptr;
}
void *base_aligned_alloc(size_t alignment, size_t bytes) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return with_errno(jebase_memalign(max_of(alignment, kLeast), max_of<size_t>(bytes, 1)));
}
void *base_memalign(size_t alignment, size_t bytes) { // rounds up, like glibc
  if (alignment > PTRDIFF_MAX + size_t{1}) {
    errno = EINVAL;
    return nullptr;
  }
  return base_aligned_alloc(std::bit_ceil(max_of(alignment, kLeast)), bytes);
}
int base_posix_memalign(void **out, size_t alignment, size_t bytes) {
  return jebase_posix_memalign(out, alignment, max_of(bytes, kLeast));
}
void *base_valloc(size_t bytes) { return base_aligned_alloc(kBasePageBytes, bytes); }

size_t base_statistic(const char *name) {
  size_t value = 0, size = sizeof value;
  return jebase_mallctl(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}
struct mallinfo2 base_mallinfo2() {
  uint64_t epoch = 1;
  size_t size = sizeof epoch;
  jebase_mallctl("epoch", &epoch, &size, &epoch, sizeof epoch);
  struct mallinfo2 info = {};
  info.arena = base_statistic("stats.mapped");
  info.uordblks = base_statistic("stats.allocated");
  info.fordblks = info.arena - min_of(info.arena, info.uordblks);
  return info;
}
int base_malloc_trim(size_t) {
  size_t before = base_statistic("stats.resident");
  jebase_mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  jebase_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); // MALLCTL_ARENAS_ALL
  base_mallinfo2();                                                 // begins a new epoch
  return base_statistic("stats.resident") < before;
}
void *replaced_calloc(size_t count, size_t bytes) {
  void *p = malloc(count * bytes);
  return p ? memset(p, 0, count * bytes) : nullptr;
}

} // namespace

namespace {
constinit ThreadCacheInit g_cache_init;
thread_local bool t_no_memory;
} // namespace
extern "C" {
void *jesys_arena_palloc(jemalloc_thread *thread, jemalloc_arena *arena, size_t bytes,
                         size_t alignment, bool zero,
                         SMALLOC_JEMALLOC_SLAB(bool slab, ) jemalloc_cache *cache) {
  void *p = jebase_arena_palloc(thread, arena, bytes, alignment, zero,
                                SMALLOC_JEMALLOC_SLAB(slab, ) cache);
  t_no_memory = !p;
  return p;
}
/// If a thread's own arena cannot be created, jemalloc still gives the thread a cache. It then uses
/// the first arena, until there is another.
jemalloc_arena *jesys_arena_choose_hard(jemalloc_thread *thread, bool internal) {
  jemalloc_arena *arena = jebase_arena_choose_hard(thread, internal);
  return arena ? arena : __atomic_load_n(&jebase_arenas[0], __ATOMIC_ACQUIRE);
}
bool jesys_tsd_tcache_enabled_data_init(jemalloc_thread *thread) {
  return smalloc::g_cache_init.run(jebase_tsd_tcache_enabled_data_init, thread, t_no_memory,
                                   jebase_opt_tcache);
}
}

bool was_loaded_later(const void *) { return false; }
void remember_start_images() {}
bool is_loader_or_vdso(const char *path) { return path && strncmp(path, "linux-vdso", 10) == 0; }
void *next_definition(const char *name, const void *) {
  // Automatic storage: the first call comes before any initialiser has run.
  const Definition definitions[] = {
      {"free", at(base_free), at(free)},
      {"__libc_free", at(base_free), at(free)},
      {"__libc_realloc", at(base_realloc), nullptr},
      {"malloc", at(base_malloc), at(malloc)},
      {"realloc", at(base_realloc), at(realloc)},
      {"calloc", at(base_calloc), at(replaced_calloc)},
      {"malloc_usable_size", at(jebase_malloc_usable_size), nullptr},
      {"memalign", at(base_memalign), nullptr},
      {"aligned_alloc", at(base_aligned_alloc), nullptr},
      {"posix_memalign", at(base_posix_memalign), nullptr},
      {"valloc", at(base_valloc), nullptr},
      {"mallinfo2", at(base_mallinfo2), nullptr},
      {"malloc_trim", at(base_malloc_trim), nullptr},
  };
  bool replaced = another_free_is_first();
  for (const Definition &d : definitions)
    if (strcmp(d.name, name) == 0) {
      void *found = replaced ? d.replaced : d.base;
      // The program may define malloc and free but no realloc: libsmalloc's realloc does not know
      // its objects.
      return found == g_own.realloc ? nullptr : found;
    }
  return nullptr;
}
// Knows only operator delete, to find out whether it is replaced; returns nullptr for any other
// name. A program whose operator new returns memory that free does not accept must replace operator
// delete. A lone operator new cannot be detected.
void *first_definition(const char *name) {
  Delete deletes[4];
  four_deletes(deletes);
  for (const Delete &d : deletes)
    if (strcmp(d.name, name) == 0)
      return d.visible;
  return nullptr;
}
bool in_executable(const void *) { return true; }
const char *image_name(const void *) { return ""; }
bool image_defines(const void *address, const char *name) {
  Delete deletes[4];
  four_deletes(deletes);
  // The program's own definition, on purpose.
  for (const Delete &d : deletes)
    if (address == d.visible && d.visible != d.own)
      return false;
  return strcmp(name, "malloc") == 0; // the base is an allocator, not libsmalloc
}
bool image_mentions(const void *, const char *) { return true; } // unknown, so assume it
const char *executable_mentions(const char *const *) { return nullptr; }

} // namespace smalloc

// Names of glibc's object in libc.a that defines malloc. A reference to a name that is missing here
// would also link that object. mallopt's parameters tune a heap that does not exist: it succeeds
// without effect.
#define SMALLOC_NAME extern "C" __attribute__((visibility("default")))
SMALLOC_NAME int mallopt(int, int) { return 1; }
SMALLOC_NAME void *__libc_malloc(size_t bytes) { return malloc(bytes); }
SMALLOC_NAME void *__libc_calloc(size_t count, size_t bytes) { return calloc(count, bytes); }
SMALLOC_NAME void *__libc_memalign(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
SMALLOC_NAME void *__libc_valloc(size_t bytes) { return valloc(bytes); }
SMALLOC_NAME void *__libc_pvalloc(size_t bytes) { return pvalloc(bytes); }
SMALLOC_NAME int __posix_memalign(void **out, size_t alignment, size_t bytes) {
  return posix_memalign(out, alignment, bytes);
}
#undef SMALLOC_NAME
