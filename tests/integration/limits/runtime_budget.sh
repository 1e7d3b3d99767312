#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# budget: as a number and as a share of the footprint is respected. When it is used up, the site
# that gains more takes superpages from the site that gains less, in place, while another thread
# writes. In a memory cgroup, libsmalloc makes no superpage at first touch that does not fit.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(cold_site, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(hot_site, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(whole_at_once, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static char *cold, *hot;
static volatile int stop;
static void *writer(void *p) { /* increments every page of the cold object while its page size changes */
  size_t *rounds = (size_t *)p;
  while (!stop) {
    for (size_t i = 0; i < 64 * MIB; i += 4096) (*(unsigned *)(cold + i))++;
    ++*rounds;
  }
  return NULL;
}
static uint64_t now(void) { struct smalloc_statistics s = {.bytes = sizeof s}; smalloc_stats(&s); return s.superpages_now * UNIT; }
int main(int argc, char **argv) {
  if (argc > 1) { /* shares: 200 MiB of the program's own, then 200 MiB that all want superpages */
    char *own = (char *)malloc(200 * MIB);
    memset(own, 1, 200 * MIB);
    for (int i = 0; i < 10; i++) {
      char *p = (char *)site_malloc(&whole_at_once, 20 * MIB + 1);
      memset(p, 1, 20 * MIB);
      CHECK(now() <= status_kb("VmRSS:") * 1024 / 100 * 25 + UNIT);
    }
    CHECK(now() >= 80 * MIB);
    return puts("share") < 0;
  }
  cold = (char *)site_malloc(&cold_site, 64 * MIB);
  char *between = (char *)site_malloc(&cold_site, 8 * MIB); /* separates the two mappings */
  hot = (char *)site_malloc(&hot_site, 64 * MIB);
  CHECK(ours(cold) && ours(hot));
  free(between);
  memset(cold, 0, 64 * MIB), memset(hot, 5, 64 * MIB);
  /* Up to 50 times as many calls as on an idle machine: superpages may be slow to get here. */
  int calls = 0;
  for (; calls < 20000 && now() < 64 * MIB; calls++) touching(cold, 1000000);
  CHECK(now() == 64 * MIB && smaps(cold, 64 * MIB, "AnonHugePages:") >= 60 * MIB);
  pthread_t t;
  size_t rounds = 0;
  pthread_create(&t, NULL, writer, &rounds);
  /* What the cold site was worth counts: each of its calls needs two of the hot one's. */
  for (int i = 0; i < 4000 || (i < 8000 + 4 * calls && smaps(hot, 64 * MIB, "AnonHugePages:") < 60 * MIB); i++) {
    touching(hot, 1000000);
    CHECK(now() <= 64 * MIB);
  }
  while (rounds < 2) usleep(1000);
  stop = 1;
  pthread_join(t, NULL);
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  CHECK(smaps(hot, 64 * MIB, "AnonHugePages:") >= 60 * MIB);
  CHECK(smaps(cold, 64 * MIB, "AnonHugePages:") <= 4 * MIB);
  for (size_t i = 0; i < 64 * MIB; i += 4096) CHECK(*(unsigned *)(cold + i) == rounds && hot[i] == 5);
  free(cold), free(hot);
  CHECK(now() == 0);
  return puts("done") < 0;
}
E
SMALLOC_CONF=heap:guest,populate:always,budget:64m,debug:on,stats:exit expect_status 0 timeout 100 ./t
expect_match out '^done$'
expect_match err 'demotions: +(2[89]|3[0-9])$'
expect_no_match err contradict
SMALLOC_CONF=heap:guest,populate:always,budget:25%,debug:on expect_status 0 ./t share
expect_match out '^share$'
SMALLOC_CONF=heap:guest,populate:always,budget:64m,demote:off expect_status 1 ./t
expect_match err 'not true: smaps\(hot'
# A memory cgroup of 160 MiB: the second object of 100 MiB would not fit with superpages at first
# touch.
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  if [ -w $root ] && mkdir "$root/smalloc-test-$$" 2>/dev/null; then
    for limit in memory.limit_in_bytes memory.max; do
      [ -e "$root/smalloc-test-$$/$limit" ] && echo 160M >"$root/smalloc-test-$$/$limit" 2>/dev/null && group=$root/smalloc-test-$$
    done
    [ -n "$group" ] && break
    rmdir "$root/smalloc-test-$$"
  fi
done
[ -n "$group" ] || skip "no memory cgroup can be made here; everything else passed"
trap 'rmdir "$group"; rm -rf "$tmp"' EXIT
[ -e "$group/memory.max" ] && echo "memory cgroup of version 2" || echo "memory cgroup of version 1: version 2 has no memory controller here"
build c $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(whole_at_once, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  char *a = (char *)site_malloc(&whole_at_once, 100 * MIB);
  memset(a, 1, 100 * MIB);
  char *b = (char *)site_malloc(&whole_at_once, 100 * MIB); /* a program that stops after 20 MiB */
  for (size_t i = 0; i < 100 * MIB; i += 20480) b[i] = 1;
  printf("%zu %zu\n", smaps(a, 100 * MIB, "AnonHugePages:") / MIB, smaps(b, 100 * MIB, "AnonHugePages:") / MIB);
  return 0;
}
E
status=0
SMALLOC_CONF=heap:guest,populate:always,stats:exit bash -c "echo \$\$ >$group/cgroup.procs && exec ./c" >out 2>err || status=$?
[ $status = 0 ] || { cat out err; fail "status $status in the cgroup"; }
expect_match out '^(9[0-9]|100) 0$'
expect_match err 'not on: +thp: limit 1'
