#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Neither malloc nor free is a cancellation point, as POSIX requires. A cancelled thread ends after
# the call, not inside it with libsmalloc's locks held, whatever files libsmalloc reads there.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *first(void *x) { /* its first big object starts the heaps */
  pthread_mutex_lock(&m);
  void *volatile p = malloc(64 << 20);
  free(p);
  pthread_mutex_unlock(&m);
  pthread_testcancel();
  return x;
}
static void *grows(void *x) {
  char *p = malloc(8 << 20);
  memset(p, 1, 8 << 20);
  pthread_cancel(pthread_self());
  for (size_t n = 9; n < 40; n++) p = realloc(p, n << 20);
  free(p);
  pthread_testcancel();
  return x;
}
int main(void) {
  pthread_t t;
  void *result;
  pthread_mutex_lock(&m);
  pthread_create(&t, NULL, first, NULL);
  pthread_cancel(t);
  pthread_mutex_unlock(&m);
  pthread_join(t, &result);
  pthread_mutex_lock(&m);
  if (result != PTHREAD_CANCELED) return 1;
  pthread_create(&t, NULL, grows, NULL);
  pthread_join(t, &result);
  void *volatile p = malloc(8 << 20);
  free(p);
  puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  return 0;
}
E
for conf in heap:auto heap:guest heap:superpage heap:superpage,budget:50% heap:superpage,stats:exit,debug:on; do
  SMALLOC_CONF=$conf LD_PRELOAD=$PRELOAD expect_status 0 timeout 60 ./t
  expect_match out '^cancelled$'
  expect_no_match err 'warning|error'
done
