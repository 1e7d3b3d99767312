#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Claims of several programs of one user. The claim of one program raises the bar for the next. A
# killed program loses its claim, and the last program removes the shared file. A forked child
# neither releases its parent's claim nor reports a run. Damaged contents of the shared file crash
# no program.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
. "$SMALLOC_SOURCE/tests/integration/fixtures/claims.bash"
greedy=
trap 'kill -9 $greedy 2>/dev/null || true; rm -rf "$tmp" "$shared"' EXIT
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
#line 1 "t.c"
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(int argc, char **argv) {
  char *a = site_malloc(&table, 32 * MIB);
  memset(a, 1, 32 * MIB);
  if (fork() == 0) {
    char *b = site_malloc(&table, 32 * MIB);
    memset(b, 1, 32 * MIB);
    free(b);
    exit(0);
  }
  wait(0);
  fclose(fopen("ready", "w"));
  if (argc > 1)
    for (;;) pause();
  free(a);
  return 0;
}
E
readelf -n t | grep 'Build ID' >/dev/null || skip "the linker writes no build-id"
directives() { # PMB SUPERPAGES
  echo "# smalloc.directives/1 program=other"
  echo "0000000000001001 page=2m rank=1 pmb=$1 superpages=$2 numa=- # table"
}
directives 100.0 100000000 >greedy.directives
directives 5.0 16 >modest.directives
directives 100.0 16 >needed.directives
run() { # NAME [KEY:VALUE]: writes the parent's statistics to NAME.json
  rm -f "$1".*.json
  expect_status 0 env SMALLOC_CONF="directives:$1.directives,stats:json,stats_file:$1.%p.json${2:+,$2}" sh -c 'echo $$ >pid; exec ./t'
  cp "$1.$(cat pid).json" "$1.json"
}
taken='[s["directive"] for s in d["sites"] if s["id"]] == ["taken"]'
# Alone: no bar.
run modest
json_is modest.json 'd["agent"]["policy"] == "other-input" and d["agent"]["bar_percent"] == 0 and d["agent"]["superpages_claimed_by_others"] == 0'
json_is modest.json "$taken"
[ ! -e "$shared" ] || fail "the last one leaves $shared"
# The agent expects no more superpages than the budget can ever allow. A share is a share of the
# resident memory, which is at most the machine's memory.
run modest budget:1%
most=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 100 / 2097152))
json_is modest.json "d['agent']['superpages_supply'] <= $most"
# Without superpages no line is taken or claimed, and the run counts against no line.
for no in pages:base heap:off; do
  run modest $no
  json_is modest.json 'd["agent"]["superpages_taken"] == 0'
done
# Beside a program that claims all superpages.
rm -f ready
SMALLOC_CONF=directives:greedy.directives ./t stay & greedy=$!
for _ in $(seq 200); do [ ! -e ready ] || break; sleep 0.05; done
[ "$(stat -c %a "$shared")" = 600 ] || fail "$shared: mode $(stat -c %a "$shared")"
run modest
json_is modest.json '10 < d["agent"]["bar_percent"] <= 100 and d["agent"]["superpages_claimed_by_others"] > 100'
json_is modest.json '[s["directive"] for s in d["sites"] if s["id"]] == ["deferred"] and d["counters"]["superpages_peak"] == 0'
run needed
json_is needed.json "$taken"' and d["counters"]["superpages_peak"] >= 14'
expect_status 0 "$SMALLOC" stats "$greedy"
expect_match out '^agent: other-input; superpages: [0-9]+ expected, [0-9]+ claimed by other processes'
expect_match out 'table .* taken +100000000$'
# A shell that starts the program has the same settings but none of its sites, so it claims nothing.
kill -9 $greedy
wait $greedy 2>/dev/null || true
rm -f needed.*.json
LD_PRELOAD=$LIB SMALLOC_CONF=directives:greedy.directives expect_status 0 sh -c \
  'SMALLOC_CONF=directives:needed.directives,stats:json,stats_file:needed.%p.json ./t; :'
cat needed.*.json >needed.json
python3 - needed.json <<'PY' || fail "the shell has claimed something"
import json, sys
text, at, claimed = open(sys.argv[1]).read(), 0, []
while at < len(text.rstrip()):
    document, end = json.JSONDecoder().raw_decode(text, at)
    claimed.append(document["agent"]["superpages_claimed_by_others"])
    at = end + 1
assert claimed and not any(claimed), claimed
PY
rm -f ready
SMALLOC_CONF=directives:greedy.directives ./t stay & greedy=$!
for _ in $(seq 200); do [ ! -e ready ] || break; sleep 0.05; done
# A killed program loses its claim, and the next program removes it from the file.
kill -9 $greedy
wait $greedy 2>/dev/null || true
run modest
json_is modest.json 'd["agent"]["bar_percent"] == 0 and '"$taken"
[ ! -e "$shared" ] || fail "$shared is left"
# The file may hold any bytes, and may be no regular file.
for hostile in 'head -c 100000 /dev/urandom' 'printf SMCLAIM1' 'printf x' 'head -c 6128 /dev/zero'; do
  $hostile >"$shared"
  chmod 600 "$shared"
  run modest
  json_is modest.json "$taken"
  [ ! -e "$shared" ] || fail "$hostile: $shared is left"
done
mkfifo "$shared"
run modest
json_is modest.json "$taken"
rm -f "$shared"
# There is one report for each run that ended normally, and none of the children.
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"]["runs"] == 13'
