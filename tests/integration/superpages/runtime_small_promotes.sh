#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A heap of small objects starts on base pages and gets superpages once it exceeds the TLB's reach.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  warm_up(&small);
  void *first = site_malloc(&small, 64);
  CHECK(ours(first));
  for (int i = 0; i < 60000; i++) memset(site_malloc(&small, 64), 1, 64); /* 4 MiB: below the reach */
  CHECK(smaps(first, 1, "AnonHugePages:") == 0);
  for (int i = 0; i < 200; i++) touching(first, 5000000);
  CHECK(smaps(first, 1, "AnonHugePages:") == 0);
  struct smalloc_statistics s = {.bytes = sizeof s};
  for (int i = 0; i < 3000000; i++) memset(site_malloc(&small, 64), 1, 64); /* 190 MiB */
  smalloc_stats(&s);
  printf("at first touch %d, promoted %d\n", (int)s.superpages_at_first_touch, (int)s.promotions);
  CHECK(s.superpages_at_first_touch > 20);
  for (int i = 0; i < 200; i++) touching(first, 5000000);
  smalloc_stats(&s);
  CHECK(s.promotions > 0); /* their time depends on the present cost of collapses */
  CHECK(s.superpages_now * UNIT >= 170 * MIB);
  return puts("done") < 0;
}
E
expect_status 0 ./t
expect_match out '^done$'
