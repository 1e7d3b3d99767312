// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// private_jemalloc.h decides which part of jemalloc 5.3.0 we use: Debian's libjemalloc_pic.a with
// every public name made private (prefix jepriv_) and its constructor stripped, by
// private_jemalloc.sh. Types as in jemalloc's own headers, written again here because the installed
// header declares the public names.
#ifndef SMALLOC_CORE_PRIVATE_JEMALLOC_H
#define SMALLOC_CORE_PRIVATE_JEMALLOC_H

#include "smalloc/base/units.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

extern "C" {
struct je_extent_hooks {
  void *(*alloc)(je_extent_hooks *, void *, size_t, size_t, bool *zero, bool *commit, unsigned);
  bool (*dalloc)(je_extent_hooks *, void *, size_t, bool, unsigned);
  void (*destroy)(je_extent_hooks *, void *, size_t, bool, unsigned);
  bool (*commit)(je_extent_hooks *, void *, size_t, size_t offset, size_t length, unsigned);
  bool (*decommit)(je_extent_hooks *, void *, size_t, size_t offset, size_t length, unsigned);
  bool (*purge_lazy)(je_extent_hooks *, void *, size_t, size_t offset, size_t length, unsigned);
  bool (*purge_forced)(je_extent_hooks *, void *, size_t, size_t offset, size_t length, unsigned);
  bool (*split)(je_extent_hooks *, void *, size_t, size_t, size_t, bool, unsigned);
  bool (*merge)(je_extent_hooks *, void *, size_t, void *, size_t, bool, unsigned);
};
struct je_arena_config { // arena_config_t
  je_extent_hooks *extent_hooks;
  bool metadata_use_hooks;
};

void *jepriv_malloc(size_t);
void *jepriv_calloc(size_t, size_t);
void *jepriv_aligned_alloc(size_t, size_t);
void *jepriv_mallocx(size_t, int flags);
void *jepriv_rallocx(void *, size_t, int flags);
size_t jepriv_xallocx(void *, size_t, size_t extra, int flags);
void *jepriv_realloc(void *, size_t);
void jepriv_free(void *);
void jepriv_dallocx(void *, int flags);
size_t jepriv_malloc_usable_size(const void *);
int jepriv_mallctl(const char *, void *, size_t *, void *, size_t);
int jepriv_mallctlnametomib(const char *, size_t *, size_t *);
int jepriv_mallctlbymib(const size_t *, size_t, void *, size_t *, void *, size_t);
void jepriv_malloc_stats_print(void (*write)(void *, const char *), void *, const char *options);
extern const char *jepriv_malloc_conf;

// Inner functions and data. A thread is jemalloc's tsd_t, an arena its arena_t.
void jepriv_tcache_gc_event_handler(void *thread, uint64_t elapsed);
void jepriv_tcache_gc_dalloc_event_handler(void *thread, uint64_t elapsed);
/// all: every unused page goes back; otherwise those whose time has come.
void jepriv_arena_decay(void *thread, void *arena, bool is_background_thread, bool all);
/// Adds an arena's pages to nactive, ndirty and nmuzzy.
void jepriv_arena_basic_stats_merge(void *thread, void *arena, unsigned *nthreads, const char **dss,
                                    ssize_t *dirty_decay_ms, ssize_t *muzzy_decay_ms,
                                    size_t *nactive, size_t *ndirty, size_t *nmuzzy);
/// What jepriv_malloc does when it finds nothing in the thread's cache.
void *jepriv_malloc_default(size_t);
extern void *jepriv_arenas[];                    ///< by index
extern unsigned char jepriv_arena_emap_global[]; ///< emap_t: the tree of all pages
extern unsigned char
    je_sz_size2index_tab[] SMALLOC_NEAR; ///< class of a small size, by size / 8 rounded up
extern size_t je_sz_index2size_tab[] SMALLOC_NEAR; ///< bytes of a class
}

namespace smalloc {
/// MALLOCX_ flags.
constexpr int je_align(size_t alignment) { return __builtin_ctzll(alignment); }
constexpr int je_arena(unsigned arena) { return static_cast<int>((arena + 1) << 20); }
constexpr int je_tcache(unsigned cache) { return static_cast<int>((cache + 2) << 8); }
inline constexpr int kJeNoTcache = 1 << 8; // MALLOCX_TCACHE_NONE: (-1 + 2) << 8
inline constexpr int kJeZero = 0x40;
} // namespace smalloc
#endif
