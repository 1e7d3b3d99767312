#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An earlier trace of the same name stays unchanged if a recording makes none: the command cannot be
# started, there is no room, nothing was written before the end. A new trace replaces it and the
# traces of its processes, and leaves no other file.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  for (int i = 0; i < 1000; i++)
    { void *volatile p = malloc((size_t)i); free(p); }
  if (argc > 2) { // removes its own trace and puts a folder there
    unlink(argv[2]);
    mkdir(argv[2], 0777);
  }
  return argc > 1 ? raise(atoi(argv[1])) : 0;
}
C
"$CC" -O1 app.c -o app
record() { "$SMALLOC" record --source instrumented -o t.trace -- "$@"; }
# A process that continues after the command keeps its trace, under a name of its own and under one
# that others may use.
traces_left() { find . -maxdepth 1 -name 'left*trace*' -size +0 | wc -l; }
for name in left.trace 'left.%p.trace'; do
  mkfifo go
  "$SMALLOC" record --source instrumented -o "$name" -- sh -c './app; { read -r _ <go; } & :' >/dev/null 2>left.err
  left=$(traces_left)
  echo >go
  [ "$left" = 3 ] || fail "$name: $left traces of the shell, the program and what goes on: $(cat left.err)"
  whole=no
  for _ in $(seq 100); do # until it writes its end
    for trace in left*trace*; do
      expect_status 0 "$SMALLOC" trace show "$trace" --json
      grep -q '"complete": true' out || continue 2
    done
    whole=yes
    break
  done
  [ $whole = yes ] || fail "$name: a trace has no end"
  [ "$(traces_left)" = 3 ] || fail "$name: a trace has gone"
  rm -f go left*
done
record sh -c './app; ./app; :' 2>first.err
set -- t.trace.*
[ $# = 2 ] || fail "the traces of the processes: $*"
mkdir earlier folder
cp -p t.trace t.trace.* earlier
same() { # WHEN: no file was added or removed
  local name
  for name in earlier/*; do
    cmp "$name" "${name#earlier/}" || fail "$1: the earlier ${name#earlier/} is gone"
  done
  [ "$(compgen -G '*t.trace*' | wc -l)" = 3 ] || fail "$1: beside it: $(ls -A)"
}
echo 'no program' >text
printf '#!/nosuch/interpreter\n' >script
chmod +x script
for want in '127 ./nosuch' '127 nosuch-command' '126 ./text' '126 ./folder' '127 ./script'; do
  expect_status "${want% *}" record "${want#* }"
  expect_match err '^smalloc: error: cannot run the command \('
  expect_no_match err 'nothing was recorded' # reported once
  same "$want"
done
# Through pipes: under the limit no message can go to a file.
for limit in 0 1; do
  status=0
  (ulimit -f $limit && record ./app 2>&1) | cat >out || status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || fail "a limit of $limit KiB: status $status: $(cat out)"
  expect_match out 'nothing was recorded \(./app\): there is no room for a trace: file too large'
  same "a limit of $limit KiB"
done
for signal in 9 15; do # before a buffer is full
  expect_status $((128 + signal)) record ./app $signal
  expect_match err "^smalloc: warning: nothing was recorded \\(./app\\): signal $signal \\((KILL|TERM)\\) ended it before its first buffer was written\$"
  expect_match err '^hint: record it for longer, or let it end by itself$'
  expect_no_match err 'library of ours|smalloc doctor'
  same "signal $signal"
done
# A trace that cannot be replaced does not prevent other replacements.
mkdir t.trace.7
expect_status 125 record ./app
expect_match err 'cannot record \(t.trace.7\): it exists and is not a regular file'
rmdir t.trace.7
same "a folder of that name"
# If the command puts a file in the trace's place, that file stays, and the earlier trace gets a
# name that is printed.
expect_status 143 record ./app 15 t.trace
expect_match err '^smalloc: warning: the earlier trace could not be renamed back \(t.trace\): file exists$'
expect_match err '^hint: mv t.trace.before t.trace$'
cmp earlier/t.trace t.trace.before || fail "the earlier trace is gone"
rmdir t.trace
mv t.trace.before t.trace
same "a folder in its place"
# An existing file of that name stays.
echo mine >t.trace.before
expect_status 0 record ./app
[ "$(cat t.trace.before)" = mine ] || fail "it takes a name that is taken"
rm t.trace.before
[ "$(compgen -G '*t.trace*')" = t.trace ] || fail "beside the new trace: $(ls -A)"
expect_status 0 "$SMALLOC" trace show t.trace --json
json_is out 'd["complete"] and d["program"].endswith("/app")'
# Of two recordings at once, one records. The other explains why it does not, before its command
# runs.
mkfifo go
: >one.err
record sh -c './app; read -r _ <go' 2>one.err &
until [ -e .t.trace.recording ] && [ -e t.trace ]; do sleep 0.05; done
expect_error 125 'cannot record \(t.trace\): another smalloc record is writing it$' record touch started
expect_match err '^hint: smalloc record -o OTHER-NAME, or one with %p$'
[ ! -e started ] || fail "its command has run"
expect_status 0 "$SMALLOC" record --source instrumented -o other.trace -- ./app
echo >go
wait $! || fail "the first: $(cat one.err)"
expect_match one.err ' traces?; next: smalloc analyze t.trace'
[ ! -e .t.trace.recording ] || fail "its lock stays"
: >.t.trace.recording # of a killed recording
expect_status 0 record ./app
[ ! -e .t.trace.recording ] || fail "an old lock stays"
