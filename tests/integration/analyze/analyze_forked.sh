# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Memory that a forked child has from its parent is charged to the parent's site, if the parent's
# trace is analysed together with the child's. The child has no first touch of pages that the parent
# touched. All traces are one run.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >family.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define PAGES 4000 // more than the TLB of the machine below holds
#define ROUNDS 20
static long *own;
// Each generation accesses the whole table, and then the next one does.
static int generation(long *a, const int *order, int left) {
  int status = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (long i = 0; i < PAGES; i++)
      a[i * 512]++;
  // Records that are not written to the file yet when the child starts.
  for (long i = 0; i < PAGES / 8; i++)
    own[order[i] * 512L]++;
  if (left > 0) {
    const pid_t child = fork();
    if (child < 0)
      return 2;
    if (child == 0)
      exit(generation(a, order, left - 1));
    if (waitpid(child, &status, 0) != child || status != 0)
      return 2;
  }
  return a[0] % ROUNDS != 0;
}
int main(void) {
  int *order = malloc(PAGES / 8 * sizeof *order);
  long *a = calloc(PAGES, 4096);
  own = malloc(PAGES / 8 * 4096);
  if (!a || !order || !own)
    return 2;
  for (int i = 0; i < PAGES / 8; i++)
    order[i] = i * 7 % (PAGES / 8);
  return generation(a, order, 2);
}
C
"$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate family.c -o family "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record --source instrumented --rate 1 -o t.trace -- ./family
expect_match err '3 traces; next: '
analysed() { # TRACE... [OPTION...]
  expect_status 0 "$SMALLOC" analyze --machine zen3 --no-db --seconds 0.01 --json "$@"
}
analysed t.trace t.trace.*
expect_no_match err 'without a site'
cp out all.json
json_is out '[t["forked"] for t in d["traces"]] == [False, True, True] and len(d["mappings"]) == 3'
json_is out '3 * 20 * 4000 <= d["mappings"][0]["tlb_misses_base"] < 3 * 21 * 4000 + 3 * 1000'
json_is out '4500 <= d["mappings"][0]["page_faults_base"] < 4600'
# In any order of the traces, and with any grouping of sites.
# shellcheck disable=SC2046
analysed $(ls -r t.trace*)
cmp out all.json
for categories in dynamic context paper object; do
  analysed t.trace* --categories $categories
  json_is out '4500 <= d["mappings"][0]["page_faults_base"] < 4600'
  json_is out '3 * 20 * 4000 <= max(m["tlb_misses_base"] for m in d["mappings"]) < 3 * 21 * 4000 + 3 * 1000'
done
# A trace that is named twice counts once.
cp t.trace again.trace
analysed again.trace t.trace t.trace.*
json_is out '[t["forked"] for t in d["traces"]] == [False, True, True]'
json_is out '4500 <= d["mappings"][0]["page_faults_base"] < 4600'
# The savings of all traces together are the savings of one run.
for traces in t.trace 't.trace t.trace.*'; do
  # shellcheck disable=SC2086
  expect_status 0 "$SMALLOC" analyze $traces --machine zen3 --no-db --seconds 0.01 -q -o d
  sed -n '1s/.* saved_ms=\([0-9]*\).*/\1/p' d >>saved
done
python3 - $(cat saved) <<'PY' || fail "a run saves $(cat saved) ms"
import sys
one, three = map(int, sys.argv[1:])
sys.exit(not (one > 0 and three > one))
PY
# A program that reads the trace's run record also gets the faults of the children.
expect_status 0 env SMALLOC_CONF=validate:on,promote:calls XDG_STATE_HOME="$PWD/state" LD_PRELOAD="$SMALLOC_BUILD/lib/libsmalloc.so" ./family
python3 - state/smalloc/runs/*.jsonl <<'PY' || fail "$(cat state/smalloc/runs/*.jsonl)"
import json, sys
run = [json.loads(line) for line in open(sys.argv[1]) if line.strip()][-1]
sys.exit(not run["minor_faults"] > 3 * 4000)  # each generation writes to all of the table
PY
# Without the parent's trace the child's analysis has no such site.
expect_status 0 "$SMALLOC" analyze "$(ls t.trace.* | head -1)" --machine zen3 --no-db
expect_match err ' 100 % of the accesses of t.trace.[0-9]+ are to memory without a site: '
expect_match err '^smalloc: note: 1 of 1 traces are of forked processes without the parent.s trace, such as t.trace.[0-9]+ of a child of process [0-9]+: '
# The run of a daemon is the run of its child.
cat >daemon.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  long *a = calloc(2000, 4096);
  if (!a)
    return 2;
  const pid_t child = fork();
  if (child != 0) {
    usleep(100000); // time for the child's trace to appear
    _exit(child < 0);
  }
  usleep(1000000);
  for (int round = 0; round < 50; round++)
    for (long i = 0; i < 2000; i++)
      a[i * 512]++;
  return a[0] != 50;
}
C
"$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate daemon.c -o daemon "${LINK_LIBRARY[@]}"
mkdir traces '50%'
expect_status 0 "$SMALLOC" record --source instrumented --rate 1 -o traces -- ./daemon
expect_match err '^smalloc: note: 1 process of the command still runs; its traces grow$'
for _ in $(seq 100); do
  analysed traces/* -q
  ! python3 -c 'import json; exit(not json.load(open("out"))["traces"][-1]["complete"])' || break
  sleep 0.1
done
json_is out '[t["forked"] for t in d["traces"]] == [False, True] and d["traces"][1]["complete"]'
expect_status 0 "$SMALLOC" analyze traces/* --machine zen3 --no-db -q -o d
python3 - "$(sed -n '1s/.* seconds=\([0-9.]*\).*/\1/p' d)" <<'PY' || fail "$(head -1 d)"
import sys
sys.exit(not float(sys.argv[1]) >= 1)
PY
# A process that ended just before belongs to another command; a name may contain a percent sign.
for _ in 1 2; do
  expect_status 0 "$SMALLOC" record --source instrumented --rate 1 -o '50%' -- ./family
  expect_match err '3 traces; next: '
done
