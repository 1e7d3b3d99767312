#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If little address space is reserved or left, a thread's cache of small objects cannot be created.
# Such threads run without a cache, and end normally.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kObjects = 40000, kMost = 64 };
static pthread_barrier_t together;
static void *work(void *number) {
  unsigned char **p = malloc(kObjects * sizeof *p);
  if (!p) return (void *)1;
  pthread_barrier_wait(&together);
  for (int i = 0; i < kObjects; i++)
    if ((p[i] = malloc(120))) memset(p[i], (int)(long)number + 1, 120);
  long wrong = 0;
  for (int i = 0; i < kObjects; i++) {
    if (!p[i] || p[i][0] != (int)(long)number + 1 || p[i][119] != p[i][0]) wrong = 1;
    free(p[i]);
  }
  free(p);
  return (void *)wrong;
}
int main(int argc, char **argv) {
  long threads = argc > 1 ? atol(argv[1]) : 4, wrong = 0;
  pthread_t t[kMost];
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  for (int round = 0; round < 3; round++) { /* threads come and go */
    for (long i = 0; i < threads; i++)
      if (pthread_create(&t[i], NULL, work, (void *)i)) return puts("no thread") < 0;
    for (long i = 0; i < threads; i++) {
      void *result;
      pthread_join(t[i], &result);
      wrong += (long)result;
    }
  }
  printf("%ld wrong\n", wrong);
  return wrong != 0;
}
E
for heap in guest auto migrate superpage; do
  for threads in 1 4 12; do
    for reserve in 256m 300m 384m; do
      SMALLOC_CONF=heap:$heap,reserve:$reserve LD_PRELOAD=$PRELOAD expect_status 0 ./t $threads
      expect_match out '^0 wrong$'
    done
    for kib in 2000000 2200000 2500000 3000000 3400000; do
      # shellcheck disable=SC2016 # the inner shell's
      SMALLOC_CONF=heap:$heap LD_PRELOAD=$PRELOAD expect_status 0 bash -c 'ulimit -v "$1"; exec ./t "$2"' _ $kib $threads
      expect_match out '^0 wrong$'
    done
  done
done
