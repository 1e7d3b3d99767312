#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pages:hugetlb takes pages of the pool and gives them back. With an empty pool one message says so,
# the statistics count it, and transparent huge pages are used. A pool with some pages gives these.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
need_thp
need_libhugetlbfs
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  char *p[4];
  for (int i = 0; i < 4; i++) {
    p[i] = (char *)site_malloc(&site, 8 * MIB);
    CHECK(ours(p[i]));
    memset(p[i], i, 8 * MIB);
  }
  for (int i = 0; i < 4; i++) for (size_t k = 0; k < 8 * MIB; k++) CHECK(p[i][k] == i);
  printf("hugetlb %d thp %d\n", smaps(p[0], 8 * MIB, "Private_Hugetlb:") > 0, smaps(p[3], 8 * MIB, "AnonHugePages:") > 0);
  p[0] = (char *)realloc(p[0], 40 * MIB);
  for (size_t k = 0; k < 8 * MIB; k++) CHECK(p[0][k] == 0);
  for (int i = 0; i < 4; i++) free(p[i]);
  return 0;
}
E
one_at_a_time
if [ "$(pool_free 2048)" = 0 ]; then
  SMALLOC_CONF=pages:hugetlb,stats:exit expect_status 0 ours ./t
  expect_match out '^hugetlb 0 thp 1'
  [ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "not exactly one warning"; }
  expect_match err 'warning: pages:hugetlb: the pool has no free pages of 2 MiB .*; transparent huge pages are used'
  expect_match err 'at first touch on: +1g 0, hugetlb 0, thp [1-9]'
  expect_match err 'not on: +hugetlb: pool empty [1-9]'
  # A share of an empty pool is nothing, which is reported as well.
  SMALLOC_CONF=pages:hugetlb,budget:90%,stats:exit expect_status 0 ours ./t
  [ "$(grep -c 'smalloc: warning: pages:hugetlb: the pool has no free pages of 2 MiB' err)" = 1 ] || { cat err; fail "not told of the empty pool"; }
fi
fill_pool 2048 48
SMALLOC_CONF=pages:hugetlb,stats:exit,debug:on expect_status 0 ours ./t
expect_match out '^hugetlb 1 thp 0'
expect_match err 'at first touch on: +1g 0, hugetlb [1-9][0-9]*, thp 0'
expect_no_match err 'warning|not on'
[ "$(pool_free 2048)" = 48 ] || fail "pool pages are not given back"
# A share of the pool limits pool pages; the same share of the footprint limits the other
# superpages.
SMALLOC_CONF=pages:hugetlb,budget:25%,stats:json,stats_file:s.json expect_status 0 ours ./t
expect_match out '^hugetlb 1 thp [01]'
json_is s.json '0 < d["counters"]["superpages_peak"] <= 12 + 8 and d["counters"]["requests_on_hugetlb"] >= 1'
expect_no_match err warning
[ "$(pool_free 2048)" = 48 ] || fail "pool pages are not given back"
echo 6 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
SMALLOC_CONF=pages:hugetlb,debug:on expect_status 0 ours ./t
expect_match out '^hugetlb 1 thp 1'
[ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "not exactly one warning"; }
[ "$(pool_free 2048)" = 6 ] || fail "pool pages are not given back"
# A refusal of the pool leaves no gap in libsmalloc's range, where another thread's mapping could
# appear: no place is unmapped.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  strace -f -e trace=mmap -o calls -E LD_PRELOAD="$LIB" -E SMALLOC_CONF=pages:hugetlb ./t >/dev/null 2>&1
  grep -q '= -1 ENOMEM' calls || fail "the pool of 6 pages refused nothing"
  ! grep 'MAP_FIXED.*= -1' calls || fail "a mapping was refused in its place"
  [ "$(pool_free 2048)" = 6 ] || fail "pool pages are not given back"
fi
