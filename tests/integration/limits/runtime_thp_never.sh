#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With THP `never` sites get the program's malloc, unless the user sets pages:thp,force:on.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
mkdir -p sys/kernel/mm/transparent_hugepage
echo 'always madvise [never]' >sys/kernel/mm/transparent_hugepage/enabled
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  warm_up(&small);
  char *p = (char *)site_malloc(&site, 8 * MIB), *q = (char *)site_malloc(&small, 100);
  memset(p, 1, 8 * MIB);
  printf("ours %d %d huge %d\n", ours(p), ours(q), smaps(p, 8 * MIB, "AnonHugePages:") > 0);
  return 0;
}
E
SMALLOC_CONF=sysfs:$PWD/sys expect_status 0 ours ./t
expect_match out '^ours 0 0 huge 0$'
SMALLOC_CONF=sysfs:$PWD/sys,pages:thp,force:on expect_status 0 ours ./t
expect_match out '^ours 1 1'
SMALLOC_CONF=pages:base expect_status 0 ours ./t
expect_match out '^ours 1 1 huge 0$'
