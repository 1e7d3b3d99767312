// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// private_jemalloc.h declares the part of jemalloc that libsmalloc uses. private_jemalloc.sh
// makes it from Debian's libjemalloc_pic.a: every public name gets the prefix jepriv_, and its
// constructor is removed. The types repeat those of jemalloc's own headers, because the installed
// header declares the public names.
#ifndef SMALLOC_JEMALLOC_PRIVATE_JEMALLOC_H
#define SMALLOC_JEMALLOC_PRIVATE_JEMALLOC_H

#include "smalloc/base/units.h"
#include "smalloc/jemalloc/jemalloc_functions.h"

#include <stddef.h>
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

#define SMALLOC_DECLARE(result, name, parameters) result jepriv_##name parameters;
SMALLOC_JEMALLOC_FUNCTIONS(SMALLOC_DECLARE)
#undef SMALLOC_DECLARE
#define SMALLOC_DECLARE(type, name, dimension) extern type jepriv_##name dimension;
SMALLOC_JEMALLOC_DATA(SMALLOC_DECLARE)
#undef SMALLOC_DECLARE
extern unsigned char
    je_sz_size2index_tab[] SMALLOC_NEAR; ///< class of a small size, by size / 8 rounded up
extern size_t je_sz_index2size_tab[] SMALLOC_NEAR; ///< bytes of a class
}

namespace smalloc {
/// Return MALLOCX_ flags.
constexpr int je_align(size_t alignment) { return __builtin_ctzll(alignment); }
constexpr int je_arena(unsigned arena) { return static_cast<int>((arena + 1) << 20); }
constexpr int je_tcache(unsigned cache) { return static_cast<int>((cache + 2) << 8); }
inline constexpr int kJeNoTcache = 1 << 8; // MALLOCX_TCACHE_NONE: (-1 + 2) << 8
inline constexpr int kJeZero = 0x40;
} // namespace smalloc
#endif
