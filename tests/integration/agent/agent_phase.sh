#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two sites of one run want superpages, and the budget is enough for one. While the first object
# lives, the second is on base pages. When the first is freed, the live object of the second site is
# migrated in place.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <time.h>
#line 1 "t.c"
TEST_SITE(first, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
#line 2 "t.c"
TEST_SITE(second, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static long huge_mib(const char *p, size_t bytes) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[4096];
  unsigned long start, stop;
  long kib, total = 0;
  int inside = 0;
  while (fgets(line, sizeof line, f)) {
    char dash;
    if (sscanf(line, "%lx%c%lx", &start, &dash, &stop) == 3 && dash == '-')
      inside = start < (unsigned long)p + bytes && (unsigned long)p < stop;
    if (inside && sscanf(line, "AnonHugePages: %ld", &kib) == 1) total += kib;
  }
  fclose(f);
  return total / 1024;
}
int main(void) {
  struct timespec pause = {0, 30000000};
  char *a = site_malloc(&first, 64 * MIB), *b;
  memset(a, 1, 64 * MIB);
  nanosleep(&pause, 0);
  b = site_malloc(&second, 64 * MIB);
  memset(b, 2, 64 * MIB);
  printf("first %ld second %ld\n", huge_mib(a, 64 * MIB), huge_mib(b, 64 * MIB));
  nanosleep(&pause, 0);
  free(a);
  printf("alone %ld\n", huge_mib(b, 64 * MIB));
  for (size_t i = 0; i < 64 * MIB; i++)
    if (b[i] != 2) return 1;
  /* A new object of the second site gets them at first touch, in the place of the old one. */
  nanosleep(&pause, 0);
  free(b);
  b = site_malloc(&second, 64 * MIB);
  memset(b, 3, 64 * MIB);
  printf("born %ld\n", huge_mib(b, 64 * MIB));
  free(b);
  return 0;
}
E
id=$(readelf -n t | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the linker writes no build-id"
input=$(input_of phase)
write() { # SAVED_MS
  echo "# smalloc.directives/1 program=$id input=$input seconds=10.0 saved_ms=$1"
  echo "0000000000001001 page=2m rank=1 pmb=100.0 superpages=32 numa=- # first"
  echo "0000000000001002 page=2m rank=2 pmb=60.0 superpages=32 numa=- # second"
}
write 100000 >worth.directives
write 0 >worthless.directives
run() { # FILE
  expect_status 0 env SMALLOC_CONF="directives:$1,input:phase,budget:64m,stats:json,stats_file:$1.json" ./t
  expect_match out '^first (6[0-4]|5[6-9]) second 0$'
}
run worth.directives
expect_match out '^alone (6[0-4]|5[6-9])$'
expect_match out '^born (6[0-4]|5[6-9])$'
json_is worth.directives.json 'd["agent"]["policy"] == "same-input" and d["agent"]["phases"] >= 1 and d["agent"]["superpages_supply"] == 32'
json_is worth.directives.json 'd["counters"]["migrations"] == 1 and d["counters"]["promotions"] >= 28'
json_is worth.directives.json '{s["function"]: (s["directive"], s["superpages_predicted"]) for s in d["sites"] if s["id"]}["second"] == ("taken", 32)'
# A migration without a promised saving is not made.
run worthless.directives
expect_match out '^alone 0$'
# Both sites were reported, and the next command reads the report.
expect_status 0 "$SMALLOC" db show ./t --json
json_is out 'len(d["runs"]) == 2 and all(r["policy"] == "same-input" for r in d["runs"])'
