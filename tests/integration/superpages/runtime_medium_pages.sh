#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pages:mthp puts objects that get larger pages at first touch on pages of 64 KiB, also if the
# kernel would prefer superpages. If they are switched off, one line says how to switch them on.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static long pages_of_64k(void) {
  long n = -1;
  FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "r");
  if (f && fscanf(f, "%ld", &n) != 1) n = -1;
  if (f) fclose(f);
  return n;
}
int main(void) {
  long before = pages_of_64k();
  char *p = (char *)site_malloc(&site, 64 * MIB);
  memset(p, 1, 64 * MIB);
  printf("ours %d superpages %zu medium %ld\n", ours(p), smaps(p, 64 * MIB, "AnonHugePages:") / MIB, pages_of_64k() - before);
  free(p);
  return 0;
}
E
sizes=/sys/kernel/mm/transparent_hugepage
[ -d $sizes/hugepages-64kB ] || skip "the kernel has no pages of 64 KiB"
one_at_a_time
if grep -q '\[never\]' $sizes/hugepages-64kB/enabled; then
  SMALLOC_CONF=pages:mthp expect_status 0 ours ./t
  expect_match err 'warning: pages:mthp: pages of 64 KiB are switched off .*hugepages-64kB/enabled\); base pages are used'
  expect_match out '^ours 0 superpages 0'
fi
switch_pages hugepages-64kB/enabled madvise
slow_khugepaged
SMALLOC_CONF=pages:mthp,stats:exit,debug:on expect_status 0 ours ./t
expect_match err 'at first touch on: +1g 0, hugetlb 0, thp 0, mthp 1, base 0'
expect_no_match err 'warning'
# 32 units of 32 pages each, less the one that a primed unit lacks
read -r _ mine _ superpages _ medium <out
[ "$mine" = 1 ] && [ "$superpages" -le 4 ] && [ "$medium" -ge 900 ] || { cat out; fail "not on pages of 64 KiB"; }
