#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# page=1g in a directives file: each whole GiB of the site's objects comes from the pool of 1 GiB
# pages; other sites do not use the pool. With an empty pool the object gets 2 MiB pages, one line
# says so, and the statistics show the request, the result and the reason.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build t <<'E'
#include "runtime_sites.h"
#line 1 "t.c"
TEST_SITE(gigantic, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  const size_t bytes = 1040 * MIB;
  char *p = (char *)site_malloc(&gigantic, bytes);
  if (!p || !ours(p)) return 77;
  memset(p, 1, 8 * MIB); /* no more, because a machine may have little memory */
  memset(p + bytes - 8 * MIB, 2, 8 * MIB);
  /* Kernels without per-page mapping counts may call a page shared that once was. */
  const size_t pool = smaps(p, bytes, "Private_Hugetlb:") + smaps(p, bytes, "Shared_Hugetlb:");
  printf("gigantic %d superpages %d\n", pool >= 1024 * MIB,
         smaps(p, bytes, "AnonHugePages:") >= 6 * MIB);
  if (p[0] != 1 || p[bytes - 1] != 2) return 1;
  free(p);
  return 0;
}
E
{
  echo '# smalloc.directives/1 program=test'
  echo '0000000000001001 page=1g rank=1 superpages=520 numa=- # gigantic'
} >d
one_at_a_time
ours ./t >/dev/null 2>&1 || { [ $? != 77 ] || skip "no address space for 1 GiB"; }
pool=/sys/kernel/mm/hugepages/hugepages-1048576kB
if [ ! -d $pool ] || [ "$(cat $pool/free_hugepages)" = 0 ]; then
  SMALLOC_CONF=directives:d,stats:exit expect_status 0 ours ./t
  expect_match out '^gigantic 0 superpages 1$'
  [ "$(grep -c 'smalloc: warning: ' err)" = 1 ] || { cat err; fail "not exactly one warning"; }
  expect_match err 'warning: directives: page=1g: .*; transparent huge pages are used'
  expect_match err 'directives for pages of: +1 GiB: 0 of 1 big objects have some'
  expect_match err 'not on: +1g: (pool empty|no libhugetlbfs|no such size|limit) 1'
  SMALLOC_CONF=directives:d,pages:base,stats:exit expect_status 0 ours ./t
  expect_match out '^gigantic 0 superpages 0$'
  expect_no_match err 'warning'
fi
need_libhugetlbfs
fill_pool 1048576 1
# Another process may take the page first for a moment.
for attempt in 1 2 3 4 5; do
  rm -f s.json
  SMALLOC_CONF=directives:d,debug:on,stats:json,stats_file:s.json expect_status 0 ours ./t
  grep -q 'warning: directives: page=1g: the pool has no free pages' err || break
  sleep "$attempt"
done
expect_match out '^gigantic 1 superpages 1$' # the tail of 16 MiB is transparent
expect_no_match err 'warning'
json_is s.json 'd["counters"]["directed_1g"] == 1 and d["counters"]["directed_1g_got"] == 1 and d["counters"]["requests_on_1g"] == 1'
[ "$(pool_free 1048576)" = 1 ] || sleep 5 # another process may hold the page
[ "$(pool_free 1048576)" = 1 ] || fail "the page is not given back"
