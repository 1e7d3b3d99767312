#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc stats PID prints the numbers of a running process, and a forked child's own. It has the
# same keys as the process's own report, leaves nothing behind when the process is killed, and
# refuses clearly if there is nothing to read.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
need_thp
build t -w $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
TEST_SITE(_ZN5graph4make5nodesEi, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static void say(const char *name) { fclose(fopen(name, "w")); }
int main(int argc, char **argv) {
  warm_up(&_ZN5graph4make5nodesEi);
  warm_up(&_ZN5graph4make5nodesEi);
  for (int i = 0; i < 80000; i++) memset(site_malloc(&_ZN5graph4make5nodesEi, 100), 1, 100);
  char *m = (char *)site_malloc(&matrix, 64 * MIB);
  memset(m, 1, 64 * MIB);
  pid_t child = fork();
  if (child == 0) {
    free(m);
    m = (char *)site_malloc(&matrix, 16 * MIB);
    memset(m, 1, 16 * MIB);
    say("child");
    for (;;) pause();
  }
  printf("%d\n", (int)child);
  fflush(stdout);
  if (argc > 1) { /* a daemon closes descriptors that it does not know */
    for (int fd = 3; fd < 1024; fd++) close(fd);
  }
  while (access("child", F_OK)) usleep(10000);
  int fd = open("inside.json", O_CREAT | O_WRONLY, 0600);
  smalloc_stats_print_json(fd);
  close(fd);
  say("ready");
  for (;;) pause();
}
E
start() { # CONF ARGUMENTS
  rm -f child ready children inside.json
  SMALLOC_CONF=populate:always,$1 ./t ${2:-} >children &
  pid=$!
  for _ in $(seq 400); do [ ! -e ready ] || break; sleep 0.05; done
  [ -e ready ] || fail "the program does not come up"
  child=$(cat children)
}
stop() { kill -9 "$pid" "$child"; wait "$pid" 2>/dev/null || true; }
trap 'kill -9 ${pid:-} ${child:-} 2>/dev/null || true; rm -rf "$tmp"' EXIT

start stats:sites
expect_status 0 "$SMALLOC" stats "$pid"
for line in '^t \(process [0-9]+\): heaps running' '^big objects, superpages at first touch +64 MiB +64 MiB +100 %' \
  '^matrix +test\.c:[0-9]+ +64 MiB +6[456](\.[0-9])? MiB +6[456](\.[0-9])? MiB +32$' \
  '^graph::make::nodes\(int\) +test\.c:[0-9]+ +1[4-6]\.[0-9] MiB +about [5-9](\.[0-9])? MiB' 'fallbacks to malloc: 0'; do
  expect_match out "$line"
done
# The child has a page of its own.
expect_status 0 "$SMALLOC" stats "$child" --json
json_is out 'd["counters"]["big_bytes_now"] >> 20 == 16'
json_is out '[s["superpages"] for s in d["sites"] if s["function"] == "matrix"] == [8]'
expect_status 0 "$SMALLOC" stats "$pid" --json
json_is out 'd["counters"]["big_bytes_now"] >> 20 == 64'
# The report of the process and of smalloc stats have the same keys.
json_is inside.json 'd["schema"] == "smalloc.stats/1" and d["pid"] == '"$pid"
python3 - out inside.json <<'E' || fail "keys differ"
import json, sys
def keys(x): return {k: keys(v) for k, v in x.items()} if isinstance(x, dict) else [keys(v) for v in x] if isinstance(x, list) else 0
outside, inside = (keys(json.load(open(f))) for f in sys.argv[1:])
for k in outside.keys() | inside.keys():
    if outside.get(k) != inside.get(k): sys.exit(f"{k}: {outside.get(k)} outside, {inside.get(k)} inside")
E
expect_status 3 "$SMALLOC" stats "$pid" --fail-if 'counters.big_objects_now >= 1'
# --watch continues until the process ends, which is no failure.
"$SMALLOC" stats "$pid" --watch 0.1 >watched & watcher=$!
for _ in $(seq 600); do [ "$(grep -c 'heaps running' watched)" -lt 2 ] || break; sleep 0.1; done
stop
status=0
wait $watcher || status=$?
[ $status = 0 ] || fail "--watch returned $status"
[ "$(grep -c 'heaps running' watched)" -ge 2 ] || fail "--watch looked once"

# Without stats:sites the sites of big objects are still known; with stats:off nothing is.
start ""
expect_status 0 "$SMALLOC" stats "$pid"
expect_match out '^matrix .* 64 MiB .*32$'
expect_match out 'start the program with SMALLOC_CONF=stats:sites'
stop
start stats:off
expect_status 1 "$SMALLOC" stats "$pid"
expect_match err 'heaps have not started.*stats:off'
stop
start "" closing
if [ "$(id -u)" = 0 ]; then
  expect_status 0 "$SMALLOC" stats "$pid" # found by its mappings
  runuser=$(command -v runuser || true)
  if [ -n "$runuser" ] && id nobody >/dev/null 2>&1; then
    cp "$SMALLOC" smalloc && chmod 755 . smalloc
    expect_status 1 runuser -u nobody -- ./smalloc stats "$pid"
    expect_match err 'belongs to another user'
    expect_match err "^hint: sudo smalloc stats $pid"
  fi
else
  expect_status 1 "$SMALLOC" stats "$pid"
  expect_match err 'closed the descriptor'
fi
stop

expect_status 1 "$SMALLOC" stats $$
expect_match err 'it runs without libsmalloc'
expect_match err '^hint: smalloc run'
expect_status 1 "$SMALLOC" stats "$pid"
expect_match err 'there is no such process'
for bad in "" 0 -5 abc 99999999999; do
  expect_status 2 "$SMALLOC" stats "$bad"
  expect_match err '^hint: '
done
