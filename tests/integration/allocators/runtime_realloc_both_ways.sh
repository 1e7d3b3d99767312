#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# realloc moves objects between the program's heap and libsmalloc's in both directions and keeps
# every byte. Big objects grow without a copy.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static unsigned char value(size_t i) { return (unsigned char)(i * 7 + (i >> 12)); }
static void fill(unsigned char *p, size_t n) { for (size_t i = 0; i < n; i++) p[i] = value(i); }
int main(void) {
  unsigned char *p = (unsigned char *)site_realloc(&site, NULL, 1000);
  CHECK(!ours(p));
  fill(p, 1000);
  size_t had = 1000;
  static const size_t sizes[] = {100000, 5 * MIB, 9 * MIB + 123, 64 * MIB, 65 * MIB + 1, 10 * MIB, 2 * MIB, 2 * MIB - 5, 300, 7 * MIB};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *between = site_malloc(&site, 3 * MIB); /* sometimes blocks growth in place */
    p = (unsigned char *)site_realloc(&site, p, sizes[i]);
    CHECK(p && ours(p) == (sizes[i] >= 2 * MIB - 5));
    CHECK(malloc_usable_size(p) >= sizes[i]);
    for (size_t k = 0; k < had && k < sizes[i]; k++) CHECK(p[k] == value(k));
    fill(p, sizes[i]);
    had = sizes[i];
    if (i % 2) free(between);
  }
  CHECK(realloc(p, 0) == NULL);
  p = (unsigned char *)malloc(10);
  fill(p, 10);
  p = (unsigned char *)site_realloc(&site, p, 32 * MIB);
  for (int k = 0; k < 10; k++) CHECK(p[k] == value(k));
  memset(p, 5, 32 * MIB);
  void *wall[20]; /* behind p's units, so growth must move */
  for (int i = 0; i < 20; i++) wall[i] = site_malloc(&site, 2 * MIB);
  size_t huge = smaps(p, 32 * MIB, "AnonHugePages:");
  p = (unsigned char *)realloc(p, 200 * MIB);
  for (size_t i = 0; i < 32 * MIB; i++) CHECK(p[i] == 5);
  CHECK(huge >= 24 * MIB && smaps(p, 200 * MIB, "AnonHugePages:") >= huge);
  for (int i = 0; i < 20; i++) free(wall[i]);
  free(p);
  puts("done");
  return 0;
}
E
SMALLOC_CONF=heap:guest,populate:always,stats:exit,debug:on expect_status 0 ./t
expect_match out '^done$'
expect_match err 'reallocs that moved pages: +[1-9]'
expect_no_match err contradict
