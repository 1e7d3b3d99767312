#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc record --source: samples with addresses, from the kernel's rings through the trace into
# the ranking (page faults, which every machine has). Without a PMU one line says so and the other
# source is used; with `--source pmu` that is an error.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >touch.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
enum { MAIN = 4000, OTHER = 1000, CHILD = 2000 };
static char *touch(char *p, size_t pages) {
  for (size_t i = 0; i < pages; i++)
    ((volatile char *)p)[i * 4096] = 1;
  return p;
}
static void *other(void *p) { return touch(p, OTHER); }
int main(int argc, char **argv) {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* one fault a page, whatever the system's setting */
  if (argc > 1) {
    touch(malloc((size_t)CHILD * 4096), CHILD);
    puts("again");
    return 0;
  }
  char *a = touch(malloc((size_t)MAIN * 4096), MAIN), *b = malloc((size_t)OTHER * 4096);
  pthread_t thread;
  if (!a || !b || pthread_create(&thread, 0, other, b) != 0)
    return 1;
  pthread_join(thread, 0);
  for (int executes = 0; executes < 2; executes++) {
    const pid_t child = fork();
    if (child == 0 && executes)
      execl(argv[0], argv[0], "again", (char *)0);
    if (child == 0) {
      touch(malloc((size_t)CHILD * 4096), CHILD);
      exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
      return 1;
  }
  puts("done");
  return 0;
}
C
"$CC" -O1 -fno-builtin touch.c -o touch -pthread
./touch >want
# The kernel's samples of all threads; each process has its own trace.
expect_status 0 "$SMALLOC" record --source faults -o 't.%p.trace' -- ./touch
if grep -q 'smalloc: warning: record (event)' err; then
  grep -q 'samples were lost' err && fail "$(cat err)"
  skip "no perf events here: $(head -1 err)"
fi
sort want >want.sorted
sort out | cmp - want.sorted || fail "the program prints something else"
# A child that executes another program adds its number to the name; its events before may be a
# trace, too.
set -- t.*.trace*
[ $# -ge 3 ] || fail "not three traces: $*"
for trace in "$@"; do
  expect_status 0 "$SMALLOC" trace show "$trace" --json
  mv out "$trace.json"
  expect_status 0 "$SMALLOC" analyze "$trace" --machine zen3 --seconds 0.001 --no-db --json
  expect_match err '^smalloc: warning: no data accesses \(.*\): page faults were recorded'
  mv out "$trace.analysis"
done
python3 - "$@" <<'PY' || fail "the faults are not in the traces"
import json, sys
most = []
for trace in sys.argv[1:]:
    shown, found = json.load(open(trace + ".json")), json.load(open(trace + ".analysis"))
    m = max(found["mappings"], key=lambda m: m["accesses"])
    if m["footprint_bytes"] < 1000 * 4096:
        continue
    most.append((m["accesses"], m["footprint_bytes"], m["page_faults_base"] - m["page_faults"], m["superpages"]))
    assert shown["complete"] and found["has_accesses"], shown
most.sort()
assert len(most) == 3, most
# Every page of the object, except pages that malloc touched before or that existed; the threads'
# pages are two sites or one.
for accesses, footprint, saved, superpages in most[:2]:
    assert footprint == 2000 * 4096 and 1980 <= accesses <= 2050 and superpages == 4 and 1900 <= saved <= 2050, most
accesses, footprint, saved, superpages = most[2]
assert footprint == 4000 * 4096 and 3980 <= accesses <= 4050 and superpages == 8 and 3900 <= saved <= 4050, most
PY
# The header names the kind of accesses.
expect_status 0 "$SMALLOC" record -q -n --source faults -o n.trace -- ./touch
expect_match out 'SMALLOC_CONF=.*,event:faults/1/2/0/0/1 '
# Without a PMU: one line says so. With one: samples, or the program's own recording.
expect_status 0 "$SMALLOC" record --source auto -o auto.trace -- ./touch again
[ "$(grep -c 'no data accesses are recorded\|accesses that miss the TLB are sampled' err)" = 1 ] || fail "$(cat err)"
if grep -q 'no PMU\|events are closed\|forbidden here\|refuses the event' err; then
  expect_error 125 'cannot record from the PMU \(--source pmu\): ' "$SMALLOC" record --source pmu -o pmu.trace -- touch ran
  expect_match err '^hint: smalloc record --source auto'
  [ ! -e ran ] && [ ! -e pmu.trace ] || fail "it ran without its source"
else
  expect_status 0 "$SMALLOC" record --source pmu --period 101 -o pmu.trace -- ./touch again
  expect_status 0 "$SMALLOC" trace show pmu.trace --json
fi
expect_status 0 "$SMALLOC" record --source instrumented -o own.trace -- ./touch again
[ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
expect_error 125 'not a number from 1' "$SMALLOC" record --period 0 -- true
expect_error 125 '' "$SMALLOC" record --source nonsense -- true
# An invalid setting.
expect_status 0 env LD_PRELOAD="$SMALLOC_BUILD/lib/libsmalloc_feedback.so" SMALLOC_CONF=trace:bad.trace,event:what ./touch again
expect_match err "^smalloc: warning: SMALLOC_CONF: 'event:what' has a value that is not understood"
