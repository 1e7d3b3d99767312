#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Static programs. A thread whose first request comes when memory is exhausted gets NULL and ENOMEM.
# After frees, requests succeed again.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || skip "no static C library"
cat >t.c <<'E'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { THREADS = 16 };
static pthread_barrier_t full, asked, empty;
static int left;
static void try(void *p, size_t n) {
  if (!p && errno != ENOMEM) printf("errno %d\n", errno), _exit(1);
  if (p) memset(p, 1, n), free(p);
  errno = 0;
}
static void *thread(void *argument) {
  pthread_barrier_wait(&full);
  errno = 0;
  switch ((long)argument % 4) { // the first function differs by thread
  case 0: try(malloc(100), 100); break;
  case 1: try(calloc(10, 10), 100); break;
  case 2: try(realloc(NULL, 20000), 20000); break;
  case 3: free(NULL), try(aligned_alloc(64, 128), 128); break;
  }
  for (size_t n = 1; n < 3 << 20; n = n * 3 + 1) try(malloc(n), n);
  pthread_barrier_wait(&asked);
  pthread_barrier_wait(&empty);
  for (size_t n = 1; n < 3000; n++) try(malloc(n), n); // memory that another thread freed may stay in that thread's arena
  return argument;
}
int main(int argc, char **argv) {
  left = argc > 1 ? atoi(argv[1]) : 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  pthread_barrier_init(&full, NULL, THREADS + 1), pthread_barrier_init(&asked, NULL, THREADS + 1), pthread_barrier_init(&empty, NULL, THREADS + 1);
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) if (pthread_create(&threads[i], NULL, thread, (void *)i)) return 1;
  struct Link { struct Link *next; } *all = NULL;
  for (size_t n = 1 << 20; n >= 16; n /= 2)
    for (struct Link *p; (p = malloc(n)); all = p) p->next = all;
  for (; left > 0 && all; left--) { struct Link *next = all->next; free(all); all = next; }
  pthread_barrier_wait(&full);
  pthread_barrier_wait(&asked);
  while (all) { struct Link *next = all->next; free(all); all = next; }
  pthread_barrier_wait(&empty);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (size_t n = 1; n < 100000; n += 100) if (!(all = malloc(n))) puts("not served again"), _exit(1); else memset(all, 1, n), free(all);
  puts("end");
}
E
quietly "$CLANG" -O1 -fno-builtin -static t.c -L"$LIBDIR" -Wl,-u,malloc -lsmalloc -o t
for conf in heap:auto heap:guest heap:superpage; do
  for left in 0 30 1000 4000 20000; do
    expect_status 0 bash -c "ulimit -v 600000; SMALLOC_CONF=$conf,reserve:256m exec ./t $left"
    expect_match out '^end$'
  done
done
