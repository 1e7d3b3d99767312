#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A dense object is promoted at its promotion points once the saving pays for it, and not before;
# counts are correct.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(int argc, char **argv) {
  char *p = (char *)site_malloc(&site, 64 * MIB);
  memset(p, 1, 64 * MIB);
  if (argc > 1) { /* promote:off */
    CHECK(ours(p) && __smalloc_v1_pending == 0);
    for (int i = 0; i < 400; i++) touching(p, 1000000);
    CHECK(smaps(p, 64 * MIB, "AnonHugePages:") == 0);
    return puts("off") < 0;
  }
  CHECK(ours(p) && __smalloc_v1_pending == 1);
  touching(p, 1000); /* saves about 30 us: not enough for 46 ms */
  for (int i = 0; i < 4000; i++) touching(p, 0);
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") == 0);
  size_t rss = status_kb("VmRSS:");
  for (int i = 0; i < 400; i++) touching(p, 1000000);
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") >= 62 * MIB);
  CHECK(status_kb("VmRSS:") < rss + 1500);
  CHECK(__smalloc_v1_pending == 0);
  for (size_t i = 0; i < 64 * MIB; i++) CHECK(p[i] == 1);
  free(p);
  CHECK(__smalloc_v1_pending == 0);
  return puts("done") < 0;
}
E
SMALLOC_CONF=heap:guest,stats:exit expect_status 0 ours ./t
expect_match out '^done$'
expect_match err 'promotions: +3[0-9] in'
SMALLOC_CONF=heap:guest,promote:off expect_status 0 ours ./t off
expect_match out '^off$'

# Batches of short loops: checked occasionally, and the loops in between count.
build batches <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(void) {
  char *p = (char *)site_malloc(&site, 64 * MIB);
  CHECK(ours(p));
  memset(p, 1, 64 * MIB);
  for (int i = 0; i < 20; i++) touching(p, SMALLOC_TOUCH_BATCH); /* 0.1 ms */
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") == 0);
  for (int i = 0; i < 200000; i++) touching(p, SMALLOC_TOUCH_BATCH); /* a second and more of loops, within milliseconds */
  usleep(1000);
  touching(p, SMALLOC_TOUCH_BATCH);
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") >= 62 * MIB);
  return puts("done") < 0;
}
E
expect_status 0 ours ./batches
expect_match out '^done$'

# A nest's count is an unchecked 64-bit product. A large one counts as large, and a negative one,
# modulo 2^64, as none.
build much <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(void) {
  char *p = (char *)site_malloc(&site, 64 * MIB);
  CHECK(ours(p));
  memset(p, 1, 64 * MIB);
  for (int i = 0; i < 100; i++) touching(p, 0 - (uint64_t)1000000 * i);
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") == 0);
  touching(p, (uint64_t)1 << 50);
  CHECK(smaps(p, 64 * MIB, "AnonHugePages:") >= 2 * MIB);
  return puts("done") < 0;
}
E
expect_status 0 ours ./much
expect_match out '^done$'
