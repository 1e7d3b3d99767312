#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A signal that a process sends to smalloc record is passed on to the command and ends it. The trace
# contains the command's events, and the status is the command's. Ignored signals stay ignored.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
env --default-signal=INT true 2>/dev/null || skip "no env --default-signal"
# Writes its number to ./pid when it waits; "handles": ends by itself at a signal, with status 7.
cat >app.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void handler(int number) { got = number; }
int main(int argc, char **argv) {
  for (int i = 0; i < 1000; i++)
    { void *volatile p = malloc((size_t)i); free(p); }
  if (argc > 1 && strcmp(argv[1], "handles") == 0)
    for (int number = 1; number < 16; number++)
      if (number != SIGKILL)
        signal(number, handler);
  FILE *file = fopen("pid.new", "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  rename("pid.new", "pid");
  for (int i = 0; i < 600 && !got; i++)
    usleep(100000);
  return got ? 7 : 0;
}
C
"$CC" -O1 app.c -o app
ended() { # STATUS SIGNAL [handles]
  local want=$1 signal=$2 status=0
  rm -f pid t.trace
  env --default-signal=INT,TERM,HUP "$SMALLOC" record --source instrumented -o t.trace -- ./app "${@:3}" >out 2>err &
  local record=$!
  for _ in $(seq 300); do [ ! -e pid ] || break; sleep 0.05; done
  [ -e pid ] || fail "the command has not begun: $(cat err)"
  kill "-$signal" $record
  wait $record || status=$?
  [ "$status" = "$want" ] || fail "$signal: status $status instead of $want: $(cat err)"
  ! kill -0 "$(cat pid)" 2>/dev/null || fail "$signal: the command goes on"
}
for signal in '143 TERM' '129 HUP' '130 INT' '138 USR1'; do
  # shellcheck disable=SC2086 # two words
  ended $signal
  expect_match err "nothing was recorded \\(./app\\): signal [0-9]+ \\(${signal#* }\\) ended it before"
  expect_no_match err 'library of ours|smalloc doctor'
done
for signal in TERM HUP INT; do
  ended 7 $signal handles
  expect_match err '1 trace; next: smalloc analyze t.trace$'
  expect_status 0 "$SMALLOC" trace show t.trace --json
  json_is out 'd["complete"] and d["events"]["allocations"] >= 999'
done
# nohup: neither process ends.
rm -f pid t.trace
(trap '' HUP; exec env --default-signal=INT,TERM "$SMALLOC" record --source instrumented -o t.trace -- ./app handles) >out 2>err &
record=$!
for _ in $(seq 300); do [ ! -e pid ] || break; sleep 0.05; done
kill -HUP $record
sleep 0.3
kill -0 $record && kill -0 "$(cat pid)" || fail "a signal that is ignored ends it"
kill -TERM $record
status=0
wait $record || status=$?
[ "$status" = 7 ] || fail "status $status: $(cat err)"
# With SIGCHLD ignored.
expect_status 3 env --ignore-signal=CHLD "$SMALLOC" record -q --source instrumented -o t.trace -- sh -c 'exit 3'
