#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pages:hugetlb takes pages of the pool; with an empty pool it says so once and goes on with transparent huge
# pages.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
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
  printf("hugetlb %d thp %d\n", smaps(p[0], 8 * MIB, "Private_Hugetlb:") > 0, smaps(p[0], 8 * MIB, "AnonHugePages:") > 0);
  p[0] = (char *)realloc(p[0], 40 * MIB);
  for (size_t k = 0; k < 8 * MIB; k++) CHECK(p[0][k] == 0);
  for (int i = 0; i < 4; i++) free(p[i]);
  return 0;
}
E
pool=/sys/kernel/mm/hugepages/hugepages-2048kB
free_pages=$(cat $pool/free_hugepages 2>/dev/null || echo 0)
if [ "$free_pages" -lt 4 ]; then
  SMALLOC_CONF=pages:hugetlb expect_status 0 ours ./t
  expect_match out '^hugetlb 0 thp 1'
  [ "$(grep -c 'smalloc: warning: pages:hugetlb' err)" = 1 ] || { cat err; fail "not exactly one warning"; }
fi
if [ "$free_pages" = 0 ] && [ -w $pool/nr_hugepages ] && [ "$(cat $pool/nr_hugepages)" = 0 ]; then
  # Ours to fill for a moment.
  trap 'echo 0 >$pool/nr_hugepages; rm -rf "$tmp"' EXIT
  echo 48 >$pool/nr_hugepages 2>/dev/null || true
  free_pages=$(cat $pool/free_hugepages)
fi
[ "$free_pages" -ge 48 ] || skip "the pool of 2 MiB pages is empty and cannot be filled; tested without"
SMALLOC_CONF=pages:hugetlb,stats:exit,debug:on expect_status 0 ours ./t
expect_match out '^hugetlb 1'
expect_match err 'hugetlb: +[1-9][0-9]* units, refused 0'
expect_no_match err warning
[ "$(cat $pool/free_hugepages)" = "$free_pages" ] || fail "pool pages are not given back"
