#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A limit of file sizes (ulimit -f) ends no program because of libsmalloc's files: the page of live
# statistics, the statistics at the end, a warning, the run's report, the claim beside other
# programs, a log of migrations.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
# limited FILE CMD...: no file may grow. Standard output goes to ./out through a pipe. Standard
# error goes to FILE, or also to the pipe if FILE is "-".
limited() {
  local to=$1 status=0
  shift
  (
    ulimit -f 0
    if [ "$to" = - ]; then exec "$@" 2>&1; else exec "$@" 2>"$to"; fi
  ) | cat >out || status=${PIPESTATUS[0]}
  [ "$status" = 0 ] || { cat out >&2; fail "status $status: $*"; }
  expect_match out '^done$'
}
# shellcheck disable=SC2046 # several words
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <signal.h>
#line 1 "t.c"
TEST_SITE(table, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(int argc, char **argv) {
  sigset_t blocked;
  char *a = site_malloc(&table, 32 * MIB);
  memset(a, 1, 32 * MIB);
  CHECK(ours(a));
  if (argc > 1)
    smalloc_stats_print(2);
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  CHECK(!sigismember(&blocked, SIGXFSZ));
  puts("done");
  return 0;
}
E
limited - ./t
[ "$(wc -l <out)" = 1 ] || fail "something is said: $(cat out)"
limited full env SMALLOC_CONF=stats:exit,nosuchkey:1 ./t print
[ ! -s full ] || fail "the limit is none"
limited - env SMALLOC_CONF=stats:exit,stats_file:report ./t
expect_match out '^smalloc: warning: SMALLOC_CONF: stats_file: cannot write report \(File too large\); statistics are not complete$'

# With directives libsmalloc writes a report of the run, and a claim on superpages.
if [ -d /dev/shm ] && [ -w /dev/shm ] && readelf -n t | grep 'Build ID' >/dev/null; then
  printf '# smalloc.directives/1 program=other\n0000000000001001 page=2m rank=1 pmb=100.0 superpages=16 numa=- # table\n' >t.directives
  limited - env SMALLOC_CONF=directives:t.directives,validate:on ./t
  expect_match out 'validate: the history gets no report on this run: the disk is full'
fi

FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || exit 0 # sanitizers
echo 'int puts(const char *); int main(void) { return puts("done") < 0; }' >plain.c
"$CC" plain.c -o plain
limited full env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:t.trace,samples:none ./plain
walker=$SMALLOC_BUILD/tests/numa_walker
[ -x "$walker" ] || exit 0
. "$SMALLOC_SOURCE/tests/integration/fixtures/two_nodes.bash"
(ulimit -f 0 && exec "$SMALLOC" run --numa migrate --conf "sysfs:$tmp/sys,numa_interval:0.2,numa_log:log" -- "$walker" far base 2 1 2>full) | cat >out
expect_match out ' wrong 0$'
[ ! -s log ] || fail "the limit is none: $(head -3 log)"
