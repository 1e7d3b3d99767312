#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Superpages of small objects that have become nearly empty give their idle pages back. Resident
# memory follows live memory within a tenth, every surviving object keeps its bytes, and filled
# units become superpages again.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <time.h>
TEST_SITE(small, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
enum { N = 60000, SIZE = 4096 };
static char *object[N];
static void fill(int i) { object[i] = (char *)site_malloc(&small, SIZE); memset(object[i], i % 100, SIZE); }
int main(void) {
  warm_up(&small);
  for (int i = 0; i < N; i++) fill(i);
  CHECK(ours(object[N / 2]));
  for (int i = 0; i < 2000; i++) touching(object[N / 2], 5000000);
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  size_t full = s.superpages_now, before = status_kb("VmRSS:");
  CHECK(full * UNIT >= 130 * MIB);
  srand(1);
  for (int i = 0; i < N; i++) /* all except every twentieth, at random */
    if (rand() % 20) { free(object[i]); object[i] = NULL; }
  smalloc_trim();
  smalloc_stats(&s);
  size_t after = status_kb("VmRSS:");
  printf("superpages %zu -> %zu, resident %zu -> %zu KiB\n", full, (size_t)s.superpages_now, before, after);
  for (int i = 0; i < N; i++) for (int k = 0; object[i] && k < SIZE; k += 100) CHECK(object[i][k] == i % 100);
  int demoted = s.superpages_now < full / 4 && after < before / 4;
  for (int i = 0; i < N; i++) if (!object[i]) fill(i);
  for (int i = 0; i < 4000; i++) touching(object[N / 2], 5000000);
  for (int i = 0; i < N; i++) for (int k = 0; k < SIZE; k += 100) CHECK(object[i][k] == i % 100);
  smalloc_stats(&s);
  printf("again %zu, demoted %d\n", (size_t)s.superpages_now, demoted);
  return 0;
}
E
SMALLOC_CONF=debug:on,stats:exit expect_status 0 ./t
expect_match out 'demoted 1$'
expect_match err 'demotions: +[1-9][0-9]'
expect_no_match err contradict
again=$(sed -n 's/^again \([0-9]*\),.*/\1/p' out)
[ "$again" -ge 60 ] || { cat out; fail "not promoted again"; }
SMALLOC_CONF=debug:on,demote:off,stats:exit expect_status 0 ./t
expect_match out 'demoted 0$'
expect_match err 'demotions: +0$'

# The same for a program without sites whose whole heap is libsmalloc's: units that lost their
# superpages and fill up get them back.
build plain <<'E'
#include "runtime_sites.h"
#include <malloc.h>
enum { N = 60000, SIZE = 4096 };
static char *object[N];
static size_t huge(void) {
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  size_t kb = 0;
  while (f && fgets(line, sizeof line, f)) sscanf(line, "AnonHugePages: %zu", &kb);
  if (f) fclose(f);
  return kb << 10;
}
static void fill(int i) { object[i] = (char *)malloc(SIZE); memset(object[i], i % 100, SIZE); }
int main(void) {
  for (int i = 0; i < N; i++) fill(i);
  const size_t full = huge();
  srand(1);
  for (int i = 0; i < N; i++)
    if (rand() % 20) { free(object[i]); object[i] = NULL; }
  malloc_trim(0);
  const size_t thin = huge();
  for (int i = 0; i < N; i++) if (!object[i]) fill(i);
  for (int i = 0; i < 128 * 1024; i++) { void *volatile p = malloc(3 * MIB / 2); *(char *)p = 1; free(p); }
  for (int i = 0; i < N; i++) for (int k = 0; k < SIZE; k += 100) CHECK(object[i][k] == i % 100);
  printf("full %zu thin %zu again %zu MiB\n", full >> 20, thin >> 20, huge() >> 20);
  CHECK(full >= 200 * MIB && thin < full / 3 && huge() >= full / 2);
  return 0;
}
E
SMALLOC_CONF=heap:superpage,promote:eager LD_PRELOAD=$PRELOAD expect_status 0 ./plain
