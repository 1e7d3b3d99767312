#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A process ends while its threads continue. There is no message, the trace is complete, and events
# that those threads could not write are counted as lost. Also on a slow disk: the kernel cuts a
# write short when its process ends.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >app.c <<'C'
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_long begun;
static void *work(void *p) {
  long done = 0;
  for (unsigned x = 1;; x = x * 1664525u + 1013904223u) {
    void *volatile q = malloc(x >> 20);
    free(q);
    begun += ++done == 500;
  }
  return p;
}
int main(void) {
  pthread_t t;
  for (int i = 0; i < 3; i++)
    if (pthread_create(&t, NULL, work, NULL)) return 1;
  while (begun < 3)
    sched_yield();
  return 5;
}
C
"$CC" -O1 app.c -o app -pthread
lost=0
for run in $(seq 30); do
  expect_status 5 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF="trace:$run.trace" ./app
  [ ! -s err ] || fail "run $run: $(cat err)"
  expect_status 0 "$SMALLOC" trace show "$run.trace" --json
  [ ! -s err ] || fail "run $run: $(cat err)"
  # A thread has lost everything if its first chunk was being written.
  json_is out 'd["complete"] and d["skipped_bytes"] == 0 and (d["totals"]["threads"] == 4 or d["events"]["lost"] > 500)'
  json_is out 'd["events"]["allocations"] + d["events"]["lost"] >= 1500'
  lost=$((lost + $(python3 -c 'import json; print(json.load(open("out"))["events"]["lost"])')))
done
[ "$lost" -gt 0 ] || fail "nothing is counted of what the threads did while their chunks were written"
# Each frame takes two writes, with a pause between them: a process that ends in the pause leaves
# half a frame.
cat >slow.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
ssize_t write(int fd, const void *data, size_t bytes) {
  static ssize_t (*next)(int, const void *, size_t);
  if (!next) next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  if (fd < 200) return next(fd, data, bytes);
  pthread_mutex_lock(&one);
  ssize_t first = next(fd, data, bytes / 2);
  usleep(20000);
  if (first >= 0) first += next(fd, (const char *)data + first, bytes - (size_t)first);
  pthread_mutex_unlock(&one);
  return first;
}
C
"$CC" -O1 -shared -fPIC slow.c -o slow.so
for run in $(seq 5); do
  expect_status 5 env LD_PRELOAD="$FEEDBACK:$PWD/slow.so" SMALLOC_CONF="trace:slow$run.trace" ./app
  [ ! -s err ] || fail "slow run $run: $(cat err)"
  expect_status 0 "$SMALLOC" trace show "slow$run.trace" --json
  [ ! -s err ] || fail "slow run $run: $(cat err)"
  json_is out 'd["complete"] and d["skipped_bytes"] == 0 and d["events"]["allocations"] + d["events"]["lost"] >= 1500'
done
