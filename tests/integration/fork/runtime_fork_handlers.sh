#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The program's own fork handlers allocate, free and wait for threads that allocate, which is
# allowed with glibc's malloc. libsmalloc holds no lock while they run, although its heaps start
# long after the handlers were registered.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
# shellcheck disable=SC2046 # several words
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <pthread.h>
#include <sys/wait.h>
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(nodes, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
static void *volatile big, *volatile small;
static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *x) { /* ends with a jemalloc cache */
  pthread_mutex_lock(&mine);
  pthread_mutex_unlock(&mine);
  for (int i = 0; i < 1000; i++) free(site_malloc(&nodes, 100));
  return x;
}
static pthread_t worker;
static void before(void) {
  pthread_mutex_lock(&mine);
  free(big);
  free(small);
  big = site_malloc(&matrix, 8 * MIB);
  pthread_mutex_unlock(&mine);
  pthread_join(worker, NULL);
}
static void after(void) {
  free(big);
  big = site_malloc(&matrix, 16 * MIB);
  small = site_malloc(&nodes, 100);
}
static void *nap(void *x) { pause(); return x; }
int main(void) {
  pthread_atfork(before, after, after);
  big = site_malloc(&matrix, 64 * MIB); /* the heaps start */
  warm_up(&nodes);
  small = site_malloc(&nodes, 100);
  pthread_t t;
  pthread_create(&t, NULL, nap, NULL);
  for (int i = 0; i < 20; i++) {
    pthread_create(&worker, NULL, work, NULL);
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
      void *p = site_malloc(&matrix, 4 * MIB);
      _exit(!ours(p) || !ours(big));
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  puts("forked");
  return 0;
}
E
SMALLOC_CONF=populate:always expect_status 0 timeout 60 ./t
expect_match out '^forked$'
build plain <<'E'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile buffer;
static void before(void) { free(buffer); }
static void after(void) { buffer = malloc(64 << 20); }
static void *nap(void *x) { pause(); return x; }
int main(void) {
  pthread_atfork(before, after, after);
  buffer = malloc(64 << 20);
  pthread_t t;
  pthread_create(&t, NULL, nap, NULL);
  for (int i = 0; i < 20; i++) {
    int status;
    if (fork() == 0) _exit(buffer == NULL);
    wait(&status);
    if (status) return 1;
  }
  puts("forked");
  return 0;
}
E
for conf in heap:auto heap:guest heap:superpage; do
  SMALLOC_CONF=$conf LD_PRELOAD=$PRELOAD expect_status 0 timeout 60 ./plain
  expect_match out '^forked$'
done
