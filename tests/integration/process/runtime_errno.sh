#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No entry changes errno, whether it serves the request or not, nor when the program's malloc serves
# it and cannot extend its heap. libsmalloc's free keeps errno. The look-up of functions that glibc
# lacks (free_sized) leaves no dlerror message.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-builtin $(linked) <<'E'
#include "runtime_sites.h"
#include <dlfcn.h>
void free_sized(void *, size_t) __attribute__((weak)); /* newer than this glibc */
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(base, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
#define SAME(expression) do { errno = 77; expression; CHECK(errno == 77); } while (0)
int main(void) {
  void *p, *q;
  volatile size_t wraps = ((size_t)1 << 60) + 1; /* times 16 is 16 */
  CHECK(dlerror() == NULL);
  for (int round = 0; round < 3; round++) {
    SAME(p = __smalloc_v1_malloc(8 * MIB, &site)); CHECK(p);
    SAME(q = __smalloc_v1_malloc(8 * MIB, &base)); CHECK(q);
    memset(q, 1, 8 * MIB);
    SAME(__smalloc_v1_touching(q, 100000000));
    SAME(p = __smalloc_v1_realloc(p, 30 * MIB, &site)); CHECK(p);
    SAME(CHECK(!__smalloc_v1_realloc(p, ~(size_t)0 / 2, &site))); /* the program's own realloc sets the reason */
    SAME(free(p)); SAME(free(q));
    SAME(p = __smalloc_v1_malloc(~(size_t)0 / 2, &site)); CHECK(!p);
    SAME(p = __smalloc_v1_calloc(~(size_t)0, 16, &site)); CHECK(!p);
    SAME(p = __smalloc_v1_calloc(((size_t)1 << 41) + 1, 8 * MIB, &site)); CHECK(!p); /* wraps around to 8 MiB */
    SAME(p = __smalloc_v1_aligned_alloc(3, 8 * MIB, &site)); CHECK(!p);
    SAME(CHECK(__smalloc_v1_posix_memalign(&p, 4, 8 * MIB, &site) == -1));
    SAME(CHECK(__smalloc_v1_posix_memalign(&p, 8 * MIB, 8 * MIB, &site) == 0));
    CHECK((uintptr_t)p % (8 * MIB) == 0);
    SAME(free(p));
    if (round == 0) warm_up(&small);
    for (int i = 0; i < 3000; i++) { SAME(p = __smalloc_v1_malloc(1000, &small)); SAME(free(p)); }
    SAME(p = __smalloc_v1_malloc(100, &small)); CHECK(p);
    SAME(free(p));
    SAME(p = __smalloc_v1_calloc(wraps, 16, &small)); CHECK(!p);
    /* The functions that accept any pointer, with a pointer of libsmalloc and one of glibc. */
    void *any[] = {__smalloc_v1_malloc(100, &small), __smalloc_v1_malloc(8 * MIB, &site), malloc(100), malloc(8 * MIB)};
    for (int i = 0; i < 4; i++) {
      SAME(CHECK(malloc_usable_size(any[i]) >= 100));
      for (size_t n = 50; n < 20 * MIB; n *= 30) {
        SAME(any[i] = realloc(any[i], n)); CHECK(any[i]);
        SAME(any[i] = reallocarray(any[i], n, 2)); CHECK(any[i]);
        memset(any[i], i, 2 * n);
      }
      errno = 0;
      p = reallocarray(any[i], wraps, 16);
      CHECK(!p && errno == ENOMEM && *(char *)any[i] == i);
    }
    SAME(free(any[0])); SAME(free_sized(any[1], 100)); SAME(free_aligned_sized(any[2], 16, 100)); SAME(free(any[3]));
    /* The public interface. */
    enum smalloc_pages kinds[] = {SMALLOC_BASE, SMALLOC_SUPERPAGE, SMALLOC_BOTH};
    for (int i = 0; i < 3; i++) {
      SAME(p = smalloc_malloc(5000, kinds[i])); CHECK(p);
      SAME(p = srealloc(p, 9 * MIB)); CHECK(p);
      SAME(p = srealloc(p, 700)); CHECK(p);
      SAME(sfree(p));
      SAME(p = scalloc(9, MIB, kinds[i])); CHECK(p);
      SAME(sfree(p));
      SAME(p = smemalign(4096, 9 * MIB, kinds[i])); CHECK(p);
      SAME(sfree(p));
      errno = 0;
      CHECK(!scalloc(((size_t)1 << 41) + 1, 8 * MIB, kinds[i]) && errno == ENOMEM);
    }
  }
  errno = 0;
  p = __smalloc_v1_malloc(100, &small);
  CHECK(realloc(p, ~(size_t)0 / 2) == NULL && errno == ENOMEM);
  CHECK(dlerror() == NULL);
  puts("done");
  return 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
# Another mapping lies behind glibc's heap: its brk fails, its mmap does not.
build outgrown -fno-builtin $(linked) <<'E'
#include "runtime_sites.h"
#include <smalloc/smalloc.h>
#include <sys/mman.h>
int main(void) {
  free(malloc(100));
  const uintptr_t end = ((uintptr_t)sbrk(0) + 4095) / 4096 * 4096;
  CHECK(mmap((void *)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != MAP_FAILED);
  for (int i = 0; i < 50; i++) {
    errno = 77;
    void *p = i % 2 ? smalloc_malloc(100000, SMALLOC_BOTH) : scalloc(1, 100000, SMALLOC_BASE);
    CHECK(p && errno == 77);
    p = srealloc(p, 120000);
    CHECK(p && errno == 77);
  }
  return 0;
}
E
expect_status 0 env SMALLOC_CONF=heap:off ./outgrown
