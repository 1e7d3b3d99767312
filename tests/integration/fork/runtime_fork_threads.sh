#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fork while other threads allocate, free, flush streams and promote: the child can use the heaps,
# and no thread hangs.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include "fork_children.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
static volatile int stop;
static void *churn(void *unused) {
  FILE *f = fopen("/dev/null", "w");
  for (unsigned i = 0; !stop; i++) {
    void *p = site_malloc(&small, i * 37 % 5000), *q = site_malloc(&small, 100);
    fprintf(f, "%p", p);
    if (i % 50 == 0) fflush(NULL);
    char *b = i % 20 ? NULL : (char *)site_malloc(&big, 5 * MIB);
    if (b) memset(b, 1, 5 * MIB), touching(b, 1000000);
    free(p), free(q), free(b);
  }
  fclose(f);
  return unused;
}
static void use(int number) {
  for (int k = 0; k < 200; k++) free(site_malloc(&small, k * 10));
  char *b = (char *)site_malloc(&big, 5 * MIB);
  memset(b, 1, 5 * MIB);
  touching(b, 1000000);
  free(b);
  if (number % 10 == 0 && fork() == 0) _exit(0);
}
int main(void) {
  pthread_t t[3];
  warm_up(&small);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, churn, NULL);
  fork_children(150, use);
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  puts("done");
  return 0;
}
E
expect_status 0 ours timeout 120 ./t
expect_match out '^done$'
