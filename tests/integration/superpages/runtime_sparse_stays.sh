#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A big object that is reserved and hardly touched stays on base pages, however often its loops are
# reported.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(void) {
  char *p = (char *)site_malloc(&site, 640 * MIB);
  CHECK(ours(p));
  size_t before = status_kb("VmRSS:");
  for (size_t i = 0; i < 640 * MIB; i += 8 * MIB) p[i] = 1;
  for (int i = 0; i < 2000; i++) touching(p, 1000000);
  CHECK(status_kb("VmRSS:") - before < 1500);
  CHECK(smaps(p, 640 * MIB, "AnonHugePages:") == 0);
  CHECK(__smalloc_v1_pending == 0); /* given up: the kernel is not asked again */
  return puts("done") < 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
