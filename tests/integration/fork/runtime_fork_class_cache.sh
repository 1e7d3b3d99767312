#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A child of a process that has or had threads continues to use the class heap. Its thread cache
# there is one that jemalloc's own fork handlers keep. Preloaded with heap:migrate, and by the
# interface.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build plain -fno-builtin <<'E'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kKept = 8000 };
static char *kept[kKept];
static volatile int done;
static void fill(char from) { for (int i = 0; i < kKept; i++) memset(kept[i] = malloc(1000), from, 1000); }
static void *worker(void *rounds) {
  for (long i = 0; i < (long)rounds; i++) memset(malloc(1000), 1, 1000);
  while (!rounds && !done) usleep(1000);
  return NULL;
}
static int child_of(int depth) { /* and a grandchild */
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kKept; i++) free(kept[i]);
    fill(2);
    for (int i = 0; i < kKept; i++) if (kept[i][999] != 2) _exit(1);
    pthread_t t; /* ends, and its cache with it */
    if (pthread_create(&t, NULL, worker, (void *)2000) != 0 || pthread_join(t, NULL) != 0) _exit(2);
    _exit(depth ? child_of(depth - 1) : 0);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}
int main(int argc, char **argv) {
  pthread_t t;
  fill(1);
  pthread_create(&t, NULL, worker, argc > 1 ? NULL : (void *)20000);
  if (argc == 1) pthread_join(t, NULL);
  int bad = child_of(1) + child_of(0);
  done = 1;
  if (argc > 1) pthread_join(t, NULL);
  for (int i = 0; i < kKept; i++) bad += kept[i][500] != 1, free(kept[i]);
  return bad != 0 || argv[0] == NULL;
}
E
for heap in migrate superpage guest auto; do
  expect_status 0 env LD_PRELOAD="$PRELOAD" SMALLOC_CONF=heap:$heap ./plain
  expect_status 0 env LD_PRELOAD="$PRELOAD" SMALLOC_CONF=heap:$heap ./plain beside
done
build api $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
enum { kKept = 20000 };
static void *kept[kKept];
static void *idle(void *unused) { pause(); return unused; }
int main(int argc, char **argv) {
  pthread_t t;
  for (int i = 0; i < kKept; i++) memset(kept[i] = smalloc_malloc(1000, SMALLOC_BASE), 1, 1000);
  pthread_create(&t, NULL, idle, NULL);
  if (argc > 1) CHECK(smalloc_heap_migrate() >= 0);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kKept; i += 7) sfree(kept[i]);
    for (int i = 0; i < 1000; i++) sfree(smalloc_malloc(100, SMALLOC_BASE));
    if (argc > 1) CHECK(smalloc_heap_migrate() >= 0);
    smalloc_trim();
    exit(argv[0] == NULL);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (int i = 0; i < kKept; i++) sfree(kept[i]);
  return 0;
}
E
expect_status 0 ./api
expect_status 0 ./api migrate
