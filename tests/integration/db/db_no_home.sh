#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If there can be no history (another user's HOME, no HOME, an invalid one), commands work without
# it. A started program keeps its status, and an analysis is written. A command that only reads
# creates no history.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
unset XDG_STATE_HOME
cat >app.c <<'C'
#include <stdlib.h>
int main(void) {
  for (int i = 0; i < 1000; i++)
    { void *volatile p = malloc((size_t)i); free(p); }
  return 5;
}
C
"$CC" -O1 app.c -o app
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
mkdir sealed work
mkdir -p sealed/.local/state
chmod 711 .
chmod 777 work
chmod 0 sealed
"${user[@]}" test -x "$SMALLOC" 2>/dev/null || skip "the build is closed to other users"
cd work
for home in "$tmp/sealed" /nonexistent relative ''; do
  HOME=$home expect_status 5 "${user[@]}" "$SMALLOC" record --source instrumented -o t.trace -- ../app
  expect_match err '^smalloc: warning: the run is not in the history \('
  expect_match err '^hint: XDG_STATE_HOME='
  expect_no_match err 'unexpected|filesystem'
  HOME=$home expect_status 0 "${user[@]}" "$SMALLOC" analyze t.trace --machine zen4 -o t.directives
  expect_no_match err 'unexpected|filesystem'
  [ -e t.directives ] || fail "HOME=$home: no directives"
  rm -f t.directives
  status=1
  [ "$home" != /nonexistent ] || status=0 # there is no file, and the command writes none
  HOME=$home expect_status $status "${user[@]}" "$SMALLOC" db list
  expect_no_match err 'unexpected|filesystem'
done
HOME=relative expect_error 1 '\(HOME\): it is no absolute path' "$SMALLOC" db list
HOME='' expect_error 1 '\(HOME\): it is not set' "$SMALLOC" db list
chmod 700 ../sealed
# An empty file of another program is no history.
: >mine
expect_error 1 '\(mine\): there is no history in it' "$SMALLOC" db list --db mine
[ ! -s mine ] && [ ! -e mine-wal ] && [ ! -e mine-shm ] || fail "it has been written to: $(ls -l)"
