#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A peer behind libsmalloc puts a header before each object and does not define malloc_usable_size.
# glibc's function would read a wrong size from that header. So libsmalloc leaves a rewritten
# realloc of these objects to the peer, and no byte is lost.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >peer.c <<'C'
#include <errno.h>
#include <stddef.h>
#include <string.h>
static char room[512 << 20] __attribute__((aligned(16)));
static size_t used;
static size_t *head(void *p) { return (size_t *)p - 2; }
void *malloc(size_t n) {
  size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
  if (n > sizeof room / 4 || at + n + 16 > sizeof room)
    return errno = ENOMEM, (void *)0;
  size_t *h = (size_t *)(room + at);
  h[0] = n;
  h[1] = 0x21; /* as a chunk of 32 bytes, to glibc */
  return h + 2;
}
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) {
  void *r = malloc(n);
  if (r && p)
    memcpy(r, p, *head(p) < n ? *head(p) : n);
  return r;
}
void *memalign(size_t a, size_t n) { return (void *)(((size_t)malloc(n + a) + a - 1) / a * a); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = memalign(a, n)) ? 0 : ENOMEM; }
C
"$CLANG" -O2 -fno-builtin -shared -fPIC peer.c -o peer.so
cat >begin.c <<'C'
#include <stdlib.h>
#include <string.h>
void *begin(size_t n) { return memset(malloc(n), 7, n); }
C
cat >grow.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *begin(size_t n);
int main(void) {
  int bad = 0;
  for (size_t n = 100; n < 100000; n *= 3) {
    char *p = begin(n);
    p = realloc(p, 8 << 20);
    for (size_t i = 0; i < n; i++)
      bad += p[i] != 7;
    memset(p, 8, 8 << 20);
    free(p);
  }
  printf("bad %d\n", bad);
  return bad != 0;
}
C
"$CLANG" -O2 -c begin.c
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all grow.c begin.o -o grow
for conf in heap:superpage populate:always; do
  expect_status 0 env LD_PRELOAD="$LIB $PWD/peer.so" SMALLOC_CONF=$conf ./grow
  expect_match out '^bad 0$'
done
# With a peer that defines malloc_usable_size the object moves to libsmalloc's heap.
expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=heap:superpage,stats:exit ./grow
expect_match out '^bad 0$'
expect_match err 'big objects: +[1-9]'
