/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * runtime_sites.h: allocation sites without the plugin, for the runtime's tests. Records, cells,
 * thunks and the module record are written by hand, as site.h describes them. TEST_SITE(name,
 * decision, flags, min_pages) declares a site. site_malloc(&name, n) and similar functions are the
 * thunks. Use one file per image. */
#ifndef RUNTIME_SITES_H
#define RUNTIME_SITES_H
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <smalloc/site.h>
#include <smalloc/smalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma weak __smalloc_v1_register_module
#pragma weak __smalloc_v1_unregister_module
#pragma weak __smalloc_v1_malloc
#pragma weak __smalloc_v1_calloc
#pragma weak __smalloc_v1_realloc
#pragma weak __smalloc_v1_aligned_alloc
#pragma weak __smalloc_v1_posix_memalign
#pragma weak __smalloc_v1_touching
#pragma weak __smalloc_v1_pending
#pragma weak smalloc_is_ours
size_t malloc_usable_size(void *);
void _ZdlPv(void *) __attribute__((weak));

struct test_record {
  struct smalloc_site site;
  char function[32], file[32], callee[16];
  struct smalloc_cell *cell;
};
extern struct test_record __start_smalloc_sites[] __attribute__((weak, visibility("hidden")));
extern struct test_record __stop_smalloc_sites[] __attribute__((weak, visibility("hidden")));

#define MIB ((size_t)1 << 20)
#define UNIT (2 * MIB)
#define NEVER 0xffffffffu
/* Source of the decision for small objects. A compiler's decision also depends on their sizes
 * (core/site_sizes.h). */
#ifndef TEST_SMALL_BY
#define TEST_SMALL_BY SMALLOC_BY_PROFILE
#endif
#define TEST_BY(flags_) ((flags_) & SMALLOC_SITE_SMALL ? TEST_SMALL_BY : SMALLOC_BY_COMPILER)
#define TEST_SITE_CALLEE(name, decision_, flags_, min_pages, callee_)                              \
  struct smalloc_cell name __attribute__((section("smalloc_cells"), used)) = {                     \
      SMALLOC_WORD(decision_, (flags_) | SMALLOC_SITE_REWRITTEN, 21, TEST_BY(flags_), min_pages),  \
      0, 0};                                                                                       \
  struct test_record name##_record __attribute__((section("smalloc_sites"), used, aligned(8))) = { \
      {SMALLOC_SITE_MAGIC,                                                                         \
       1,                                                                                          \
       sizeof(struct smalloc_site),                                                                \
       sizeof(struct test_record),                                                                 \
       (flags_) | SMALLOC_SITE_REWRITTEN,                                                          \
       0x1000 + __LINE__,                                                                          \
       0,                                                                                          \
       __LINE__,                                                                                   \
       1,                                                                                          \
       0,                                                                                          \
       sizeof(struct smalloc_site),                                                                \
       sizeof(struct smalloc_site) + 32,                                                           \
       sizeof(struct smalloc_site) + 64,                                                           \
       0,                                                                                          \
       0,                                                                                          \
       0,                                                                                          \
       0,                                                                                          \
       2048,                                                                                       \
       SMALLOC_UNKNOWN,                                                                            \
       SMALLOC_UNKNOWN,                                                                            \
       SMALLOC_UNKNOWN,                                                                            \
       (uint64_t)(min_pages) * 4096,                                                               \
       -1,                                                                                         \
       -1,                                                                                         \
       0,                                                                                          \
       decision_,                                                                                  \
       TEST_BY(flags_),                                                                            \
       0,                                                                                          \
       21,                                                                                         \
       0,                                                                                          \
       0,                                                                                          \
       12},                                                                                        \
      #name,                                                                                       \
      "test.c",                                                                                    \
      callee_,                                                                                     \
      &name}
#define TEST_SITE(name, decision, flags, min_pages)                                                \
  TEST_SITE_CALLEE(name, decision, flags, min_pages, "malloc")

static struct smalloc_module test_module;
#ifndef TEST_VERSION /* version of the plugin that made the program */
#define TEST_VERSION SMALLOC_ABI_VERSION
#endif
#ifndef TEST_BYTES
#define TEST_BYTES sizeof test_module
#endif
#ifndef TEST_HEAP
#define TEST_HEAP SMALLOC_HEAP_AUTO
#endif
#ifndef TEST_FREE
#define TEST_FREE free
#endif
__attribute__((constructor(101))) static void test_register(void) {
  /* The plugin's offsets are link-time constants, which C cannot express. */
  for (char *at = (char *)__start_smalloc_sites; at && at < (char *)__stop_smalloc_sites; at += 8) {
    struct test_record *r =
        (struct test_record *)at; /* compilers align big objects more than requested */
    if (r->site.magic == SMALLOC_SITE_MAGIC) {
      r->site.cell_offset = (int32_t)((char *)r->cell - at);
      r->cell->site_offset = at - (char *)r->cell;
    }
  }
  test_module.version = TEST_VERSION;
  test_module.bytes = TEST_BYTES;
  test_module.sites_start = __start_smalloc_sites;
  test_module.sites_stop = __stop_smalloc_sites;
  test_module.free_function = (void *)TEST_FREE;
  test_module.realloc_function = (void *)realloc;
  test_module.delete_function = (void *)_ZdlPv;
  test_module.heap = TEST_HEAP;
  if (__smalloc_v1_register_module)
    __smalloc_v1_register_module(&test_module);
}
__attribute__((destructor(101))) static void test_unregister(void) {
  if (__smalloc_v1_unregister_module)
    __smalloc_v1_unregister_module(&test_module);
}

static inline int ours(const void *p) { return smalloc_is_ours && smalloc_is_ours(p); }
static inline void *site_malloc(struct smalloc_cell *c, size_t n) {
  void *p = c->word && __smalloc_v1_malloc ? __smalloc_v1_malloc(n, c) : 0;
  return p ? p : malloc(n);
}
static inline void *site_calloc(struct smalloc_cell *c, size_t k, size_t n) {
  void *p = c->word && __smalloc_v1_calloc ? __smalloc_v1_calloc(k, n, c) : 0;
  return p ? p : calloc(k, n);
}
static inline void *site_realloc(struct smalloc_cell *c, void *q, size_t n) {
  void *p = c->word && __smalloc_v1_realloc ? __smalloc_v1_realloc(q, n, c) : 0;
  return p ? p : realloc(q, n);
}
static inline void touching(const void *p, uint64_t misses) {
  if (&__smalloc_v1_pending && __smalloc_v1_pending)
    __smalloc_v1_touching(p, misses);
}

/* Returns the sum of `field` of /proc/self/smaps, in bytes, over the mappings that overlap [p, p +
 * n). */
static inline size_t smaps(const void *p, size_t n, const char *field) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  size_t sum = 0, kb, length = strlen(field);
  unsigned long from, to;
  int inside = 0;
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && strchr(line, '-') < strchr(line, ' '))
      inside = from < (unsigned long)p + n && to > (unsigned long)p;
    else if (inside && strncmp(line, field, length) == 0 && sscanf(line + length, " %zu", &kb) == 1)
      sum += kb * 1024;
  }
  fclose(f);
  return sum;
}
static inline size_t status_kb(const char *field) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  size_t kb = 0;
  while (fgets(line, sizeof line, f))
    if (strncmp(line, field, strlen(field)) == 0)
      sscanf(line + strlen(field), " %zu", &kb);
  fclose(f);
  return kb;
}
#define CHECK(condition)                                                                           \
  do                                                                                               \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                    \
      exit(1);                                                                                     \
    }                                                                                              \
  while (0)
/* Allocates small objects through site `c` until its heap serves. The heap does not serve the first
 * 4 MiB, and only serves a process as large as the memory that must be live. */
static inline void warm_up(struct smalloc_cell *c) {
  size_t ballast = 32 * MIB;
  void *p = mmap(NULL, ballast, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0);
  for (int i = 0; i < 4200; i++)
    free(site_malloc(c, 1024));
  munmap(p, ballast);
}
#ifdef __cplusplus
}
#endif
#endif
