#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fork with every page of the pool in use. Parent and child write all of it, both keep their own
# bytes, and neither gets SIGBUS (without libsmalloc's copy the kernel would kill the child). Also
# for pages of 1 GiB, and while another thread of the parent writes a quarter of them.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
need_libhugetlbfs
build t <<'E'
#include "runtime_sites.h"
#include <pthread.h>
#include <sys/wait.h>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static char *p;
static size_t n, quarter; /* the last quarter is the thread's */
static volatile int stop;
static int all(int value) { for (size_t i = 0; i < n - quarter; i += 512) if (p[i] != value) return 0; return 1; }
static void fill(int value) { memset(p, value, n - quarter); }
static void *write_on(void *base) {
  volatile char *at = (volatile char *)base;
  for (size_t i = 0; !stop; i = (i + 4096) % quarter) { at[i] = (char)i; CHECK(at[i] == (char)i); }
  return NULL;
}
int main(int argc, char **argv) {
  n = (size_t)atol(argv[1]) * MIB;
  p = (char *)site_malloc(&site, n);
  CHECK(ours(p));
  memset(p, 1, n);
  CHECK(smaps(p, n, "Private_Hugetlb:") + smaps(p, n, "Shared_Hugetlb:") >= n);
  pthread_t writer;
  if (argc > 2) {
    quarter = n / 4;
    CHECK(pthread_create(&writer, NULL, write_on, p + n - quarter) == 0);
  }
  for (int round = 0; round < 3; round++) {
    int fds[2];
    char byte;
    CHECK(pipe(fds) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      CHECK(read(fds[0], &byte, 1) == 1); /* the parent has written everything */
      CHECK(all(1));
      fill(3);
      CHECK(all(3));
      free(p);
      p = (char *)site_malloc(&site, 8 * MIB);
      memset(p, 4, 8 * MIB);
      exit(7);
    }
    fill(2);
    CHECK(write(fds[1], "x", 1) == 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status)) printf("the child got signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(all(2));
    fill(1);
  }
  stop = 1;
  if (argc > 2) CHECK(pthread_join(writer, NULL) == 0);
  free(p);
  return puts("done") < 0;
}
E
one_at_a_time
fill_pool 2048 12
for threads in '' thread; do
  # shellcheck disable=SC2086 # none, or one argument
  SMALLOC_CONF=pages:hugetlb,debug:on expect_status 0 ours timeout 60 ./t 24 $threads
  expect_match out '^done$'
  expect_no_match err 'contradict'
  [ "$(pool_free 2048)" = 12 ] || fail "pool pages are not given back"
done
fill_pool 1048576 1
SMALLOC_CONF=pages:1g,debug:on,stats:exit expect_status 0 ours timeout 100 ./t 1024
expect_match out '^done$'
expect_match err 'at first touch on: +1g 1,'
[ "$(pool_free 1048576)" = 1 ] || fail "the page of 1 GiB is not given back"
