# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A small hot table and a large lukewarm one compete for a budget that has room for one of them. For
# the recorded input the table with the larger saving per superpage is chosen. For another input
# (--other-input) the one with the larger saving is chosen. --mappings leaves out the mappings with
# the fewest accesses.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >two.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint64_t add_up(const uint64_t *table, uint64_t mask, uint64_t times) {
  uint64_t sum = 0, x = 88172645463325252u;
  for (uint64_t i = 0; i < times; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    sum += table[x & mask];
  }
  return sum;
}
__attribute__((noinline)) static uint64_t *hot_new(uint64_t n) { return malloc(n * 8); }
__attribute__((noinline)) static uint64_t *lukewarm_new(uint64_t n) { return malloc(n * 8); }
int main(void) {
  const uint64_t small = 1 << 21, large = 1 << 24;
  uint64_t *hot = hot_new(small), *lukewarm = lukewarm_new(large);
  for (uint64_t i = 0; i < small; i++)
    hot[i] = i;
  for (uint64_t i = 0; i < large; i++)
    lukewarm[i] = i;
  printf("%llu\n", (unsigned long long)(add_up(hot, small - 1, 1000000) + add_up(lukewarm, large - 1, 2000000)));
  return 0;
}
C
"$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate two.c -o two "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./two
analyze() { expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --json -q "$@"; }
chosen() { json_is out "[m['category']['function'] for m in d['mappings'] if m['chosen']] == $1"; }
analyze --budget 128m
chosen "['hot_new']"
json_is out '[m["category"]["function"] for m in d["mappings"]] == ["lukewarm_new", "hot_new"]' # ranked by PMB, independent of the choice
analyze --budget 128m --other-input
chosen "['lukewarm_new']"
analyze
chosen "['lukewarm_new', 'hot_new']"
# The history keeps the predicted misses of a run: all on base pages, and with the superpages that
# directives reach, together or alone.
export XDG_STATE_HOME=$tmp/state
misses() { # OPTIONS: predicted misses on base pages and with directives in the history, and each mapping's own
  expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --json -q "$@"
  mv out analysis.json
  expect_status 0 "$SMALLOC" db show ./two --json
  python3 - <<'PY' || fail "misses in the history: $*"
import json
d, a = json.load(open("analysis.json")), json.load(open("out"))["analyses"][-1]
alone = {m["category"]["function"]: m["tlb_misses"] for m in d["mappings"]}
base, directed = a["tlb_misses_base"], a["tlb_misses_directed"]
chosen = [m["category"]["function"] for m in d["mappings"] if m["chosen"]]
assert base == d["mappings"][0]["tlb_misses_base"] > 2e6, base
assert directed == alone[chosen[0]] if len(chosen) == 1 else directed < min(alone.values()), (directed, alone)
# First touches: base pages count as in the mappings, a superpage once for all of its 512 pages.
faults = {m["category"]["function"]: m["page_faults"] for m in d["mappings"]}
base, directed = a["page_faults_base"], a["page_faults_directed"]
assert base == d["mappings"][0]["page_faults_base"] > 1000, base
assert directed == faults[chosen[0]] if len(chosen) == 1 else directed < min(faults.values()), (directed, faults)
assert 0 < a["touch_seconds"] < 1, a["touch_seconds"]
PY
}
misses --budget 128m
misses --budget 128m --other-input
misses
# Each array separately: an array that a loop reads at random saves more than one that it streams,
# also within one site. Directives cannot express that.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --categories object --json -o object.directives
json_is out 'all(m["category"]["kind"] == "object" and m["category"]["object"] >= 1 for m in d["mappings"] if m["superpages"] > 1)'
expect_match err '^smalloc: warning: no directives \(object.directives\): directives are for sites, not for one object of a site$'
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --categories object
expect_match out ':[0-9]+, object [0-9]+ '
# A fully associative TLB without one way of each set misses more.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --json -q --associativity paper
mv out paper.json
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --json -q
python3 -c '
import json
sets, paper = (json.load(open(name))["mappings"][0]["tlb_misses_base"] for name in ("out", "paper.json"))
assert sets < paper < 1.2 * sets, (sets, paper)' || fail "the paper's associativity"
expect_error 2 'associativity' "$SMALLOC" analyze t.trace --associativity none
analyze --mappings 1
chosen "['lukewarm_new']"
json_is out 'len(d["mappings"]) == 1'
