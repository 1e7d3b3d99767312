#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A write to the trace fails: no space, no quota, an error, half of the data, a signal, a limit of
# file sizes. The program keeps its results, its errno and its SIGXFSZ. There is one message, and
# the data written before is complete.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
"$CC" -O1 -shared -fPIC "$SMALLOC_SOURCE/tests/integration/fixtures/refuse_write.c" -o refuse.so
# ROUNDS of each function of the malloc family, none of which may change errno; "limit": afterwards
# no file may grow.
cat >app.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
static volatile sig_atomic_t handled;
static void handler(int unused) { handled += 1 + 0 * unused; }
#define SAME(expression)                                                                           \
  do {                                                                                             \
    errno = 77;                                                                                    \
    expression;                                                                                    \
    if (errno != 77)                                                                               \
      printf("line %d: errno %d\n", __LINE__, errno), exit(1);                                     \
  } while (0)
static void some(long rounds) {
  void *p, *q;
  volatile size_t n = 100;
  for (long i = 0; i < rounds; i++) {
    SAME(p = malloc(n));
    SAME(p = realloc(p, 10 * n));
    SAME(p = reallocarray(p, 7, n));
    SAME(q = calloc(3, n));
    SAME(free(q));
    SAME(free(p));
    SAME(p = memalign(64, n));
    SAME(free(p));
    SAME(p = aligned_alloc(64, 2 * n));
    SAME(free(p));
    SAME(if (posix_memalign(&p, 64, n)) exit(2));
    SAME(free(p));
    SAME(p = valloc(n));
    SAME(free(p));
    SAME(p = pvalloc(n));
    SAME(free(p));
  }
}
/* Products that overflow to a small number: the call fails, and existing objects stay. */
static void wrapped(void) {
  volatile size_t many = ((size_t)1 << 60) + 1;
  char *p = malloc(16);
  memset(p, 5, 16);
  errno = 0;
  if (reallocarray(p, many, 16) || errno != ENOMEM || p[15] != 5)
    exit(3);
  errno = 0;
  void *volatile q = calloc(many, 16);
  if (q || errno != ENOMEM)
    exit(4);
  errno = 0;
  q = reallocarray(NULL, many, 16);
  if (q || errno != ENOMEM)
    exit(5);
  free(p);
}
int main(int argc, char **argv) {
  const long rounds = atol(argv[1]);
  const char *limit = argc > 2 ? argv[2] : "";
  sigset_t blocked, pending;
  wrapped();
  if (strcmp(limit, "handled") == 0)
    signal(SIGXFSZ, handler);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGXFSZ);
  if (strcmp(limit, "blocked") == 0 || strcmp(limit, "waiting") == 0)
    sigprocmask(SIG_BLOCK, &blocked, NULL);
  if (strcmp(limit, "waiting") == 0)
    raise(SIGXFSZ);
  if (*limit) {
    some(rounds / 2);
    struct stat trace;
    if (stat("t.trace", &trace) || trace.st_size < 4096)
      exit(6);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, RLIM_INFINITY}); /* it cannot grow at all */
  }
  some(rounds);
  sigpending(&pending);
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
  printf("done, handled %d, pending %d, blocked %d\n", (int)handled, sigismember(&pending, SIGXFSZ),
         sigismember(&blocked, SIGXFSZ));
  return 5;
}
C
"$CC" -O1 -fno-builtin app.c -o app
expect_status 5 ./app 10
PER_ROUND=8 # allocations; 2 reallocations, 8 frees
events() { # TRACE EXPRESSION
  expect_status 0 "$SMALLOC" trace show "$1" --json
  json_is out "$2"
}
refused() { # HOW FROM ROUNDS
  rm -f t.trace t.trace.* log
  WRITE_FAILS=$1 WRITE_FROM=$2 WRITE_LOG=log expect_status 5 env LD_PRELOAD="$tmp/refuse.so $FEEDBACK" SMALLOC_CONF=trace:t.trace ./app "$3"
  expect_match out '^done, handled 0, pending 0, blocked 0$'
}
refused none 1000000 20000
[ ! -s err ] || fail "$(cat err)"
read -r _ writes _ <log
[ "$writes" -ge 6 ] || fail "the fixture sees $writes writes"
events t.trace "d['complete'] and $((6 * 20000)) <= d['events']['allocations'] <= $((PER_ROUND * 20000 + 20)) and d['events']['lost'] == 0"
allocations=$(python3 -c 'import json; print(json.load(open("out"))["events"]["allocations"])')
# A signal during a write loses nothing.
refused EINTR 0 20000
[ ! -s err ] || fail "$(cat err)"
events t.trace "d['complete'] and d['events']['allocations'] == $allocations and d['skipped_bytes'] == 0 and d['events']['lost'] == 0"
# Complete chunks stay, nothing follows them, and one message names the reason.
for how in ENOSPC EDQUOT EIO SHORT; do
  refused $how 3 20000
  [ "$(wc -l <err)" = 1 ] || fail "$how: $(cat err)"
  case $how in
  EIO) expect_match err '^smalloc: warning: trace \(t.trace\): the file cannot be written; recording stopped$' ;;
  *) expect_match err '^smalloc: warning: trace \(t.trace\): no space is left for the file; recording stopped$' ;;
  esac
  expect_match log '^writes 4 refused 1 behind 0$'
  events t.trace "not d['complete'] and 1000 < d['events']['allocations'] < $allocations and d['events']['lost'] == 0"
  [ $how = SHORT ] || json_is out 'd["skipped_bytes"] == 0'
done
# From the beginning: no trace, and no empty file is left.
for how in ENOSPC EIO SHORT; do
  refused $how 0 100
  [ "$(grep -c '^smalloc: warning: ' err)" = 1 ] || fail "$how: $(cat err)"
  expect_match err '^smalloc: warning: trace \(t.trace\): .*; nothing is recorded$'
  expect_no_match err 'hint: .*folder'
  [ $how = EIO ] || expect_match err '^hint: make room there, or trace:FILE, on a disk with room$'
  [ ! -e t.trace ] || fail "$how: a trace without a header stays"
done
# A limit of file sizes: its signal does not reach the program.
for how in default handled blocked waiting; do
  rm -f t.trace
  expect_status 5 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:t.trace ./app 40000 $how
  expect_match err '^smalloc: warning: trace \(t.trace\): no space is left for the file; recording stopped$'
  [ "$(wc -l <err)" = 1 ] || fail "$how: $(cat err)"
  case $how in
  blocked) expect_match out '^done, handled 0, pending 0, blocked 1$' ;;
  waiting) expect_match out '^done, handled 0, pending 1, blocked 1$' ;; # its own
  *) expect_match out '^done, handled 0, pending 0, blocked 0$' ;;
  esac
  events t.trace "not d['complete'] and d['events']['allocations'] > 1000 and d['skipped_bytes'] == 0"
done
# The same if no byte of the warning fits.
rm -f t.trace
status=0
(ulimit -f 0 && LD_PRELOAD=$FEEDBACK SMALLOC_CONF=trace:t.trace ./app 100 2>err) | cat >out || status=${PIPESTATUS[0]}
[ "$status" = 5 ] || fail "a limit of 0: status $status"
expect_match out '^done, handled 0, pending 0, blocked 0$'
if [ -e t.trace ] || [ -s err ]; then fail "a limit of 0: $(ls -l t.trace err)"; fi
# smalloc record suggests a cure, without mentioning libraries.
status=0
(ulimit -f 0 && exec "$SMALLOC" record --source instrumented -o t.trace -- ./app 100 2>&1) | cat >out || status=${PIPESTATUS[0]}
[ "$status" = 5 ] || fail "record with a limit of 0: status $status"
expect_match out '^smalloc: warning: trace \(.*t.trace\): File too large; nothing is recorded$'
expect_match out '^smalloc: warning: nothing was recorded \(./app\): there is no room for a trace: file too large$'
[ "$(grep -c '^hint: ulimit -f unlimited, before it$' out)" = 2 ] || fail "hints: $(cat out)"
expect_no_match out 'library of ours|folder'
