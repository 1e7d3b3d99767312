#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program may fork while other threads promote under a budget. A thread that promotes superpages
# of small objects asks the heap of big objects for room, and the fork waits for both. If a lock
# were taken too early, all of them would wait forever.
. "$(dirname "$0")/../support/lib.sh"
cat >forks.c <<'C'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kSlots = 4096, kThreads = 6, kSteps = 30000 };
static char *slots[kSlots];
static int bad;
static void *exchange(void *number) {
  uint64_t x = (uintptr_t)number * 7919 + 17;
  for (int i = 0; i < kSteps; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    size_t bytes = (32u << 10) + (x >> 20) % (96u << 10);
    char *p = malloc(bytes);
    memset(p, 1, bytes);
    free(__atomic_exchange_n(&slots[(x >> 40) % kSlots], p, __ATOMIC_SEQ_CST));
    if (!number && i % 1000 == 0) {
      pid_t child = fork();
      if (child == 0) {
        for (int k = 0; k < 100; k++)
          memset(malloc(32u << 10), 2, 32u << 10);
        _exit(0);
      }
      int status;
      waitpid(child, &status, 0);
      bad |= status;
    }
  }
  return 0;
}
int main(void) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; i++)
    pthread_create(&threads[i], 0, exchange, (void *)i);
  for (int i = 0; i < kThreads; i++)
    pthread_join(threads[i], 0);
  puts(bad ? "bad" : "ok");
  return bad;
}
C
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all forks.c -o forks -pthread
for _ in 1 2 3 4; do
  # A run takes some seconds; a run that hangs is killed.
  expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=heap:superpage,budget:8m timeout 120 ./forks
  expect_match out '^ok$'
done
