#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# stats:exit prints the table and the busiest sites; without it nothing is printed.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(nodes, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  memset(site_malloc(&matrix, 64 * MIB), 1, 64 * MIB);
  for (int i = 0; i < 100000; i++) free(site_malloc(&nodes, 100));
  return 0;
}
E
expect_status 0 ours ./t
[ ! -s out ] && [ ! -s err ] || fail "something is printed without stats:exit"
SMALLOC_CONF=stats:exit expect_status 0 ours ./t
[ ! -s out ] || fail "the table is on standard output"
for row in 'heaps: +running, strategy split' 'big objects: +1 allocated, 1 live, 64\.' 'superpages: +32 now, peak 32' \
  'superpages at birth: +32, first-touch faults saved 16352' 'mappings: +[0-9]+ ours' 'fallbacks to malloc: +0' \
  'site: +00000000000010[0-9a-f]{2} 64\.0 MiB in matrix test\.c:[0-9]+' 'site: .* 9\.5 MiB in nodes'; do
  expect_match err "^smalloc: $row"
done
SMALLOC_CONF=stats:exit ours /bin/true 2>err
expect_match err 'heaps: +never needed'
