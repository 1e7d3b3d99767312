#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# page=64k in a directives file: the site's big objects lie on pages of 64 KiB, those of other sites
# on superpages. If the kernel has 64 KiB pages switched off, the objects lie on base pages and one
# line says how to switch them on. The statistics show the request, the result and the reason.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build t <<'E'
#include "runtime_sites.h"
#line 1 "t.c"
TEST_SITE(medium, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED | SMALLOC_SITE_SMALL, 512);
#line 2 "t.c"
TEST_SITE(other, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static long pages_of_64k(void) {
  long n = 0;
  FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_alloc", "r");
  if (f && fscanf(f, "%ld", &n) != 1) n = 0;
  if (f) fclose(f);
  return n;
}
int main(void) {
  long before = pages_of_64k();
  char *p = (char *)site_malloc(&medium, 64 * MIB), *q, *small = (char *)site_malloc(&medium, 1000);
  memset(p, 1, 64 * MIB);
  long medium_pages = pages_of_64k() - before;
  q = (char *)site_malloc(&other, 64 * MIB);
  memset(q, 2, 64 * MIB);
  printf("ours %d small %d superpages %zu medium %ld other %d\n", ours(p), ours(small), smaps(p, 64 * MIB, "AnonHugePages:") / MIB,
         medium_pages, smaps(q, 64 * MIB, "AnonHugePages:") >= 32 * MIB);
  p = (char *)realloc(p, 80 * MIB);
  memset(p + 64 * MIB, 1, 16 * MIB);
  for (size_t i = 0; i < 80 * MIB; i++)
    if (p[i] != 1) return 1;
  printf("grown superpages %zu\n", smaps(p, 80 * MIB, "AnonHugePages:") / MIB);
  free(p), free(q), free(small);
  return 0;
}
E
{
  echo '# smalloc.directives/1 program=test'
  echo '0000000000001001 page=64k rank=1 superpages=32 numa=- # medium'
} >d
conf=directives:d,debug:on,stats:json,stats_file:s.json
sizes=/sys/kernel/mm/transparent_hugepage
one_at_a_time
if [ ! -d $sizes/hugepages-64kB ] || grep -q '\[never\]' $sizes/hugepages-64kB/enabled; then
  SMALLOC_CONF=populate:always,directives:d,stats:exit expect_status 0 ours ./t
  expect_match err 'warning: directives: page=64k: .*; base pages are used'
  expect_match err 'directives for pages of: +64 KiB: 0 of 1 big objects have some'
  expect_match err 'not on: +mthp: '
  expect_match out '^ours 1 small 0 superpages 0 medium [0-9]+ other 1$'
  expect_match out '^grown superpages 0$'
  SMALLOC_CONF=populate:always,$conf expect_status 0 ours ./t
  json_is s.json 'd["counters"]["directed_mthp"] == 1 and d["counters"]["directed_mthp_got"] == 0'
  json_is s.json '{s["function"]: s["page_bytes_directed"] for s in d["sites"] if s["id"]}["medium"] == 65536'
  rm s.json
fi
[ -d $sizes/hugepages-64kB ] || skip "the kernel has no pages of 64 KiB"
switch_pages hugepages-64kB/enabled madvise
slow_khugepaged
SMALLOC_CONF=populate:always,$conf expect_status 0 ours ./t
expect_no_match err 'warning'
json_is s.json 'd["counters"]["directed_mthp"] == 1 and d["counters"]["directed_mthp_got"] == 1 and d["counters"]["requests_on_mthp"] == 1'
expect_match out '^grown superpages [0-4]$'
# 32 units of 32 pages each, less the page that a primed unit lacks; the kernel's counter includes
# other processes.
read -r _ mine _ small _ superpages _ medium _ other <out
[ "$mine $small $other" = "1 0 1" ] && [ "$superpages" -le 4 ] && [ "$medium" -ge 900 ] || { cat out; fail "not on pages of 64 KiB"; }
