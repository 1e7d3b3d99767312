#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# After the first steps, big temporaries of every step are served from kept superpages. A single
# free of a big object gives its memory back.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/resource.h>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static long faults(void) { struct rusage u; getrusage(RUSAGE_SELF, &u); return u.ru_minflt; }
int main(void) {
  free(site_malloc(&site, 2 * MIB));
  size_t before = status_kb("VmRSS:");
  char *once = (char *)site_malloc(&site, 24 * MIB);
  memset(once, 1, 24 * MIB);
  free(once);
  CHECK(status_kb("VmRSS:") < before + 3000);
  long start = 0;
  for (int step = 0; step < 30; step++) {
    if (step == 5) start = faults();
    char *a = (char *)site_malloc(&site, 8 * MIB), *b = (char *)site_malloc(&site, 12 * MIB);
    CHECK(ours(a) && ours(b));
    memset(a, step, 8 * MIB), memset(b, step, 12 * MIB);
    char *z = (char *)site_calloc(&site, 1, 4 * MIB);
    for (size_t i = 0; i < 4 * MIB; i++) CHECK(z[i] == 0);
    memset(z, 9, 4 * MIB);
    free(a), free(b), free(z);
  }
  printf("%ld faults a step\n", (faults() - start) / 25);
  CHECK((faults() - start) / 25 < 40); /* tails: at most 8 pages each; without keeping, 12 superpages more */
  struct smalloc_statistics s = {.bytes = sizeof s};
  size_t rss = status_kb("VmRSS:");
  smalloc_trim();
  smalloc_stats(&s);
  CHECK(status_kb("VmRSS:") + 8000 < rss && s.superpages_now == 0);
  return puts("done") < 0;
}
E
SMALLOC_CONF=populate:always,stats:exit,debug:on expect_status 0 ./t
expect_match out '^done$'
expect_match err '2 MiB units reused, no faults: +[1-9][0-9][0-9]'
expect_no_match err contradict
kept=$(sed -n 's/ faults a step$//p' out)
# Without keeping, each step touches its 12 superpages again, or their base pages if superpages are
# too expensive.
SMALLOC_CONF=populate:always,cache:0,stats:exit expect_status 1 ./t
anew=$(sed -n 's/ faults a step$//p' out)
[ "$anew" -ge $((kept + 10)) ] || fail "$kept faults a step with kept superpages, $anew without"
expect_match err '2 MiB units reused, no faults: +0$'
