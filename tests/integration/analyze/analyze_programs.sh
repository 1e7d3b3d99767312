#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A recorded script leaves traces of several programs. The suggested next commands keep them apart.
# For a sum of three programs smalloc analyze warns that it has no meaning, does not store it, and
# names no program in the directives.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
for name in one three; do
  cat >$name.c <<'C'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  for (int i = 0; i < 20000; i++) {
    char *volatile p = malloc(4000 + argc + sizeof PROGRAM);
    memset(p, 1, 4000);
    free(p);
  }
  return argv[0] == NULL;
}
C
  "$CC" -O1 -DPROGRAM="\"$name\"" -Wl,--build-id $name.c -o $name
done
expect_status 0 "$SMALLOC" record --source instrumented -o t.trace -- sh -c './one; ./three; ./one again; :'
sed -n 's/.*traces; next: //p' err | sed 's/; or: /\n/g' >next
[ "$(wc -l <next)" -ge 2 ] || fail "one command for several programs: $(cat err)"
while read -r command; do
  eval "set -- $command"
  shift 2
  for trace; do
    expect_status 0 "$SMALLOC" trace show "$trace" --json
    python3 -c 'import json; print(json.load(open("out"))["program"].rsplit("/", 1)[-1])' >>programs
  done
  [ "$(sort -u programs | wc -l)" = 1 ] || fail "$command: $(sort -u programs | tr '\n' ' ')"
  rm programs
done <next
of() { # PROGRAM: prints its first trace
  for trace in t.trace*; do
    expect_status 0 "$SMALLOC" trace show "$trace" --json
    if grep -q "/$1\"" out; then
      echo "$trace"
      return
    fi
  done
}
expect_status 0 "$SMALLOC" analyze "$(of one)" "$(of three)" --machine zen4 --seconds 1 -o both.directives
expect_match err '^smalloc: warning: traces of different programs \(t.trace[.0-9]*\): .*/three, the first is of .*/one: their sum describes neither program'
expect_no_match both.directives 'program='
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"]["analyses"] == 0'
# Traces of one program are summed without a warning.
set -- $(for trace in t.trace*; do "$SMALLOC" trace show "$trace" --json | grep '/one"' >/dev/null && echo "$trace"; done)
[ $# = 2 ] || fail "$# traces of one"
expect_status 0 "$SMALLOC" analyze "$@" --machine zen4 --seconds 1
expect_no_match err 'different programs'
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"]["analyses"] == 1'
# A history that cannot be used is skipped, and the result is kept. An output that cannot be written
# is an error before the work.
echo noise >noise.db
expect_status 1 "$SMALLOC" analyze "$1" --machine zen4 --seconds 1 --db noise.db -o kept.directives
expect_match err 'noise.db'
expect_match out '^all on base pages'
[ -s kept.directives ] || fail "no directives"
expect_error 1 'cannot write the result \(nosuch/d\): no such file or directory' "$SMALLOC" analyze "$1" --machine zen4 -o nosuch/d
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"]["analyses"] == 1'
# A program or a trace as the output file is refused: most likely the input was named as the output.
cp "$1" before
expect_error 1 "cannot write the result \\($1\\): it is a trace" "$SMALLOC" analyze "$1" --machine zen4 --seconds 1 -o "$1"
cmp "$1" before || fail "the trace has changed"
cp one before
expect_error 1 'cannot write the result \(one\): it is a program' "$SMALLOC" machine list --json -o one
cmp one before || fail "the program has changed"
