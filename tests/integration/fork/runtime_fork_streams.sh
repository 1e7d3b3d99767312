#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A thread that flushes its streams holds stdio's list while it allocates a big object, and another
# thread forks. Neither waits for the other, also if libsmalloc never allocated a small object.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include "fork_children.h"
static volatile int stop;
static ssize_t written(void *unused, const char *data, size_t n) {
  (void)unused, (void)data;
  char *volatile p = malloc(64 * MIB);
  *p = 1;
  free(p);
  return (ssize_t)n;
}
static void *flush(void *unused) {
  FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = written});
  CHECK(f);
  while (!stop) {
    fputc('x', f);
    fflush(NULL);
  }
  return unused;
}
static void use(int unused) {
  (void)unused;
  char *volatile p = malloc(64 * MIB);
  *p = 1;
  free(p);
  fflush(NULL);
}
int main(void) {
  pthread_t t;
  CHECK(pthread_create(&t, NULL, flush, NULL) == 0);
  fork_children(400, use);
  stop = 1;
  pthread_join(t, NULL);
  puts("done");
  return 0;
}
E
LD_PRELOAD=$PRELOAD expect_status 0 timeout 100 ./t
expect_match out '^done$'
