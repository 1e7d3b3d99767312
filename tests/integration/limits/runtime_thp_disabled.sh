#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A process without transparent superpages (PR_SET_THP_DISABLE, which children inherit) behaves as
# on a machine without them. It prints one warning, counts no superpage, and its runs do not count
# for its directives. The same holds for runs on base pages that a setting requested.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build without <<'E'
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) return 77;
  return argc > 1 ? execv(argv[1], argv + 1) : 0;
}
E
./without || skip "the kernel has no PR_SET_THP_DISABLE"
build t $(linked) <<'E'
#include "runtime_sites.h"
#line 1 "t.c"
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  char *p = (char *)site_malloc(&table, 32 * MIB);
  memset(p, 1, 32 * MIB);
  printf("huge %d\n", smaps(p, 32 * MIB, "AnonHugePages:") > 0);
  free(p);
  return 0;
}
E
readelf -n t | grep 'Build ID' >/dev/null || skip "the linker writes no build-id"
id=$(readelf -n t | sed -n 's/.*Build ID: //p')
run() { # VERDICT SUPERPAGES [LAUNCHER] [KEY:VALUE]: one run with the directive
  rm -rf "$XDG_STATE_HOME" s.json
  # shellcheck disable=SC2086
  expect_status 0 env SMALLOC_CONF="directives:d,validate:on,populate:always,stats:json,stats_file:s.json${4:+,$4}" ${3:-} ./t
  json_is s.json "d['counters']['superpages_peak'] $2 and d['counters']['superpages_at_first_touch'] $2"
  python3 - "$XDG_STATE_HOME/smalloc/runs/$id.jsonl" "$1" <<'E' || fail "${3:-} ${4:-}: $(cat "$XDG_STATE_HOME"/smalloc/runs/*.jsonl)"
import json, sys
line = json.loads(open(sys.argv[1]).read())
sys.exit([x["verdict"] for x in line["directives"]] != [sys.argv[2]])
E
}
{
  echo "# smalloc.directives/1 program=$id input=cbf29ce484222325" # of no arguments
  echo "0000000000001001 page=2m rank=1 pmb=100.0 superpages=16 numa=- # table"
} >d
run held '>= 14'
expect_match out '^huge 1$'
run short '== 0' ./without
expect_match out '^huge 0$'
[ "$(grep -c '^smalloc: warning: pages:thp: transparent huge pages are disabled for this process (PR_SET_THP_DISABLE' err)" = 1 ] || fail "not told once: $(cat err)"
run short '== 0' ./without force:on
run short '== 0' '' pages:base
expect_match out '^huge 0$'
run short '== 0' '' heap:off
# If such runs are a large enough share of the history, a directive would be given up for good.
for round in 1 2 3; do
  expect_status 0 env SMALLOC_CONF=directives:d,validate:on ./without ./t
done
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"]["runs"] == 4'
