#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that reads past the end of an object runs as with other allocators: a page behind every
# object of libsmalloc is readable, whatever its size, alignment, heap and history.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t -fno-builtin <<'E'
#include "runtime_sites.h"
#include <malloc.h>
#pragma weak smemalign
#pragma weak srealloc
#pragma weak sfree
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, 0, 0);
TEST_SITE(undecided, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_UNDECIDED, 0);
static int ends[2], checked, unreadable;
/* the kernel reads, and unreadable memory gives EFAULT */
static void check(const char *how, char *p, size_t bytes) {
  static char into[4096];
  if (!p || !ours(p)) return;
  checked++;
  const ssize_t readable = write(ends[1], p + bytes, sizeof into);
  if (readable > 0) CHECK(read(ends[0], into, (size_t)readable) == readable);
  if (readable == sizeof into) return;
  if (unreadable++ < 10)
    fprintf(stderr, "%s, %zu bytes at %p: %zd bytes behind the end are readable\n", how, bytes, (void *)p, readable);
}
static void all_ways(size_t bytes) {
  char *p = (char *)malloc(bytes);
  check("malloc", p, bytes), free(p);
  p = (char *)calloc(1, bytes);
  check("calloc", p, bytes), free(p);
  for (size_t alignment = 64; alignment <= 4 * MIB; alignment *= 8) {
    p = (char *)memalign(alignment, bytes);
    check("memalign", p, bytes), free(p);
  }
  p = (char *)realloc(malloc(bytes / 2 + 1), bytes);
  check("realloc, enlarged", p, bytes), free(p);
  p = (char *)realloc(memalign(4096, 2 * bytes), bytes);
  check("realloc, reduced", p, bytes), free(p);
  p = (char *)site_malloc(&table, bytes);
  check("site of a table", p, bytes), free(p);
  p = (char *)site_malloc(&hot, bytes);
  check("hot site", p, bytes), free(p);
  p = (char *)site_calloc(&undecided, 1, bytes);
  check("undecided site", p, bytes), free(p);
  const enum smalloc_pages kinds[] = {SMALLOC_BASE, SMALLOC_SUPERPAGE, SMALLOC_BOTH};
  for (int k = 0; k < 3; k++) {
    p = (char *)smemalign(4096, bytes, kinds[k]);
    check("C interface", p, bytes);
    p = (char *)srealloc(p, 2 * bytes);
    check("C interface, enlarged", p, 2 * bytes), sfree(p);
  }
}
int main(void) {
  CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 1 << 16) > 0);
  free(malloc(20 * MIB)); /* starts the heaps */
  for (size_t mib = 2; mib <= 128; mib *= 2)
    for (int pages = -1; pages <= 1; pages++) all_ways(mib * MIB + (size_t)(pages * 4096));
  for (size_t bytes = 4096; bytes < 2 * MIB; bytes += 29 * 4096) all_ways(bytes);
  /* keeps objects: the last one of a heap has no neighbour behind it */
  for (size_t bytes = 16; bytes < 2 * MIB; bytes *= 2)
    for (size_t total = 0; total < 3 * MIB; total += bytes) check("kept", (char *)malloc(bytes), bytes);
  for (size_t bytes = 4096; bytes < 3 * MIB; bytes *= 3)
    for (size_t total = 0; total < 5 * MIB; total += bytes)
      check("kept and hot", (char *)site_malloc(&hot, bytes), bytes),
          check("kept and undecided", (char *)site_malloc(&undecided, bytes), bytes);
  printf("checked %d unreadable %d\n", checked, unreadable);
  return unreadable != 0;
}
E
for conf in heap:auto heap:superpage heap:guest heap:migrate heap:auto,pages:base heap:superpage,pages:hugetlb \
  heap:auto,cache:0; do
  SMALLOC_CONF=populate:always,$conf ours expect_status 0 ./t
  [ "$(awk '{print $2}' out)" -ge 200 ] || { cat out; fail "$conf: hardly an object was smalloc's"; }
done
