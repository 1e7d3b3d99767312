#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program's first objects come from malloc's heap, while the process is small, and from the first
# unit of libsmalloc's heap, both on base pages. In a program that grows they are collapsed: they
# may be its hottest objects, as the root of a tree. They are not in a program that stays small, and
# not under pages:base.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* KiB on superpages in malloc's heap. */
static long in_mallocs_heap(void) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[400];
  long kib = 0, at = 0;
  for (int heap = 0; fgets(line, sizeof line, f);) {
    if (strchr(line, '-') && strstr(line, "-") < line + 17)
      heap = strstr(line, "[heap]") != NULL;
    if (heap && sscanf(line, "AnonHugePages: %ld", &at) == 1)
      kib += at;
  }
  fclose(f);
  return kib;
}
int main(int argc, char **argv) {
  const long mib = atol(argv[1]);
  void **list = NULL;
  char *first = NULL, *last = NULL, *none = sbrk(0); /* objects in malloc's heap */
  for (long i = 0; i < mib << 20; i += 64) { /* slowly: a collapse may take 3 % of the time */
    void **p = malloc(56);
    memset(p, 1, 56);
    *p = list;
    list = p;
    if ((char *)p < (char *)sbrk(0) && (char *)p > none - (1 << 20)) {
      first = first ? first : (char *)p;
      last = (char *)p;
    }
    for (volatile int k = 0; k < 300; k++) {
    }
  }
  const unsigned long unit = 2ul << 20, from = ((unsigned long)first + unit - 1) / unit;
  printf("whole units %d on superpages %d\n", (unsigned long)last / unit > from, in_mallocs_heap() >= 2048);
  return 0;
}
E
# The heap's start is random: of 3 MiB and more, one unit is whole in more than half of the starts.
# And a collapse may take 3 % of the time, which a busy machine may exceed.
everything='coverage: *100 % of [0-9.]* MiB: small objects$' # no unit is left on base pages
for _ in $(seq 20); do
  SMALLOC_CONF=populate:always,stats:exit LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t 40
  grep -q 'units 1 on superpages 1' out && grep -q "$everything" err && break
done
expect_match out '^whole units 1 on superpages 1$'
expect_match err "$everything"
SMALLOC_CONF=populate:always LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t 5
expect_match out ' on superpages 0$'
SMALLOC_CONF=pages:base LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t 40
expect_match out ' on superpages 0$'
SMALLOC_CONF=promote:off LD_PRELOAD=$PRELOAD expect_status 0 timeout 120 ./t 40
expect_match out ' on superpages 0$'
