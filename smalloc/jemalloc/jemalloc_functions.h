// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// jemalloc_functions.h lists the inner functions and data of jemalloc that libsmalloc uses. It
// declares them once for both copies of jemalloc, as jemalloc's own headers do. What differs
// between its releases is in jemalloc_RELEASE.h. private_jemalloc.sh and static_archive.sh read the
// version and the names there and here. They refuse another version, whose functions may have other
// parameters, and an archive that lacks one of the names. The test jemalloc_prototypes.sh compares
// the declarations with jemalloc's source.
#ifndef SMALLOC_JEMALLOC_JEMALLOC_FUNCTIONS_H
#define SMALLOC_JEMALLOC_JEMALLOC_FUNCTIONS_H

#include <stddef.h>
#include <sys/types.h>

extern "C" {
/// A thread: jemalloc's tsd_t, or tsdn_t, which may be null.
struct jemalloc_thread;
struct jemalloc_arena;
struct jemalloc_cache;
}

#if SMALLOC_JEMALLOC_RELEASE == 50300
#include "smalloc/jemalloc/jemalloc_5.3.0.h"
#elif SMALLOC_JEMALLOC_RELEASE == 50301
#include "smalloc/jemalloc/jemalloc_5.3.1.h"
#else
#error "SMALLOC_JEMALLOC_RELEASE: no release of jemalloc that smalloc knows"
#endif

// clang-format off
/// Functions: X(result, name, parameters). The scripts need X and the name in one line.
/// arena_decay: returns every unused page if `all`, otherwise those whose decay time has passed.
/// arena_basic_stats_merge: adds an arena's pages to the given numbers. malloc_default: does what
/// malloc does if the thread's cache is empty.
#define SMALLOC_JEMALLOC_FUNCTIONS(X) \
  SMALLOC_JEMALLOC_VERSION_FUNCTIONS(X) \
  X(void, arena_decay, (jemalloc_thread *, jemalloc_arena *, bool is_background_thread, bool all)) \
  X(void, arena_basic_stats_merge, (jemalloc_thread *, jemalloc_arena *, \
    unsigned *nthreads, const char **dss, ssize_t *dirty_decay_ms, ssize_t *muzzy_decay_ms, \
    size_t *nactive, size_t *ndirty, size_t *nmuzzy)) \
  X(jemalloc_arena *, arena_choose_hard, (jemalloc_thread *, bool internal)) \
  X(bool, tsd_tcache_enabled_data_init, (jemalloc_thread *)) \
  X(void *, malloc_default, (size_t size))
/// Data: X(type, name, dimension). arenas: by index; arena_emap_global: emap_t, the tree of all
/// pages.
#define SMALLOC_JEMALLOC_DATA(X) \
  SMALLOC_JEMALLOC_VERSION_DATA(X) \
  X(bool, opt_tcache, ) \
  X(bool, opt_cache_oblivious, ) \
  X(jemalloc_arena *, arenas, []) \
  X(unsigned char, arena_emap_global, [])
// clang-format on

#endif
