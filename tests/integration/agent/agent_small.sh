#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A site of small objects with a directive that promises much. Its superpages are made before loops
# have earned their cost. The same holds in another build that has all sites of the file, and with
# or without statistics. Without a promise the superpages must be earned. With another input, or if
# a site is missing, the promise does not count.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
#line 1 "t.c"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  warm_up(&small);
  char *first = site_malloc(&small, 64);
  CHECK(ours(first));
  for (int i = 0; i < 1000000; i++) memset(site_malloc(&small, 64), 1, 64); /* 64 MiB */
  for (int i = 0; i < 24; i++) touching(first, 4096); /* worth 50 us each */
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  printf("promoted %d %d\n", (int)s.promotions, (int)(s.promotion_ns / 1000 / (s.promotions + 1)));
  return 0;
}
E
id=$(readelf -n t | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip "the linker writes no build-id"
input=$(input_of small)
write() { # FILE INPUT SAVED_MS
  echo "# smalloc.directives/1 program=$id input=$2 seconds=10.0 saved_ms=$3" >"$1"
  echo "0000000000001001 page=2m rank=1 pmb=100.0 superpages=32 numa=- # small" >>"$1"
}
promoted() { # FILE
  expect_status 0 env SMALLOC_CONF="heap:guest,directives:$1,input:small,validate:off${2:-}" ./t
  expect_match out '^promoted [0-9]+ [0-9]+$'
  read -r _ count us <out
}
write promised "$input" 100000
write unpromised "$input" 0
write other 0123456789abcdef 100000
promoted promised
with=$count
[ "$us" -ge 250 ] || skip "collapses take $us us here: all are paid for at once"
[ "$with" -ge 12 ] || fail "promised 100 s, promoted $with units of 30"
sed "s/program=$id/program=0123456789abcdef0123456789abcdef01234567/" promised >recorded
{ cat recorded && echo "0000000000001002 page=2m rank=2 pmb=1.0 superpages=1 numa=- # nowhere"; } >missing
promoted recorded
[ "$count" -ge 12 ] || fail "another build: promised 100 s, promoted $count units of 30"
promoted promised ,stats:exit,stats_file:/dev/null
[ "$count" -ge 12 ] || fail "with statistics: promised 100 s, promoted $count units of 30"
for file in unpromised other missing; do
  promoted $file
  [ "$count" -le $((with / 2)) ] || fail "$file: promoted $count units, $with with a promise"
done
