#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program's markers (smalloc_phase) are in its trace in order, with their times and threads.
# Without a recording they have no effect. The trace's name contains process, host and rank.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >phases.c <<'C'
#include <pthread.h>
#include <smalloc/smalloc.h>
#include <stdlib.h>
#include <string.h>
static void *other(void *p) {
  smalloc_phase("in a thread");
  return p;
}
int main(void) {
  char *volatile p = malloc(100);
  pthread_t thread;
  strcpy(p, "read");
  smalloc_phase(p);
  strcpy(p, "changed later");
  free(p);
  pthread_create(&thread, 0, other, 0);
  pthread_join(thread, 0);
  smalloc_phase("a\033[31m name, and a long one: ....................................");
  smalloc_phase("");
  return 0;
}
C
"$CLANG" -O2 -I"$SMALLOC_SOURCE/smalloc/include" phases.c -pthread -o phases "${LINK_LIBRARY[@]}"
expect_status 0 ./phases
[ ! -s err ] || fail "without a recording: $(cat err)"
expect_status 0 "$SMALLOC" record -q -o t.trace -- ./phases
expect_status 0 "$SMALLOC" trace show t.trace --json
json_is out '[p["name"].split("[")[0] for p in d["phases"]] == ["read", "in a thread", "a\x1b", ""]'
json_is out 'd["events"]["phases"] == 4 and [p["seconds"] for p in d["phases"]] == sorted(p["seconds"] for p in d["phases"])'
json_is out 'd["phases"][0]["thread"] == d["phases"][2]["thread"] != d["phases"][1]["thread"]'
expect_status 0 "$SMALLOC" trace show t.trace
expect_match out '^phase +[0-9.]+ s: in a thread$'
! grep -q "$(printf '\033')" out || fail "a control character of the program's reached the terminal"
# Names of traces.
for variable in OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID; do
  expect_status 0 env "$variable=7" "$SMALLOC" record -q -o "$variable.%h.%r.100%%.trace" -- ./phases
  [ -s "$variable.$(uname -n).7.100%.trace" ] || fail "no $variable.$(uname -n).7.100%.trace: $(ls)"
done
expect_status 0 "$SMALLOC" record -q -o 'pid.%p.%r.trace' -- sh -c 'echo $$; exec ./phases'
traces=(pid."$(cat out)".0.trace*) # the shell's own trace, if it allocated, and the trace of the program that it executed
[ -s "${traces[0]}" ] || fail "no pid.$(cat out).0.trace: $(ls)"
