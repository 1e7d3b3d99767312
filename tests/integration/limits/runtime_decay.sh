#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libsmalloc gives freed memory of small objects back by itself. Without the helper thread it does so
# at once if more is unused than used, and more than cache: allows. Otherwise it does so while the
# program continues to allocate a little. It never gives back memory in use.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
enum { N = 200000, SIZE = 1000, GROUP = 64, NAPS = 400 };
static char *object[N];
static void fill(int i) { object[i] = (char *)site_malloc(&small, SIZE); memset(object[i], i % 100 + 1, SIZE); }
int main(int argc, char **argv) {
  int percent = argc > 1 ? atoi(argv[1]) : 50, naps = 0;
  warm_up(&small);
  for (int i = 0; i < N; i++) fill(i);
  CHECK(ours(object[N / 2]));
  size_t full = status_kb("VmRSS:"), freed_kb = 0;
  CHECK(full > 190000);
  srand(1);
  for (int i = 0; i < N; i += GROUP) /* frees neighbours together, so that pages become empty */
    if (rand() % 100 < percent)
      for (int k = i; k < i + GROUP && k < N; k++) { free(object[k]); object[k] = NULL; freed_kb++; }
  size_t after = status_kb("VmRSS:");
  for (; naps < NAPS && status_kb("VmRSS:") > full - freed_kb * 7 / 10; naps++) {
    for (int i = 0; i < 20000; i++) if (object[i]) { free(object[i]); fill(i); }
    usleep(50000);
  }
  printf("resident %zu -> %zu -> %zu KiB, naps %d\n", full, after, status_kb("VmRSS:"), naps);
  for (int i = 0; i < N; i++) for (int k = 0; object[i] && k < SIZE; k += 50) CHECK(object[i][k] == i % 100 + 1);
  return naps == NAPS;
}
E
# More than half: at once, during the frees.
SMALLOC_CONF=debug:on expect_status 0 ./t 90
expect_match out 'naps 0$'
expect_no_match err contradict
# Less than half, or no more than cache: allows: later.
for conf in '30 debug:on' '90 debug:on,cache:1g'; do
  SMALLOC_CONF=${conf#* } expect_status 0 timeout 100 ./t "${conf% *}"
  expect_match out 'naps [1-9]'
  expect_no_match err contradict
done
