#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Threads that never allocated free small and big objects of libsmalloc. The main thread frees
# objects of threads that have ended.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
static void *object[4000];
static void *make(void *unused) {
  for (int i = 0; i < 4000; i++) {
    object[i] = i % 500 ? site_malloc(&small, 16 + i % 3000) : site_malloc(&big, 3 * MIB);
    memset(object[i], i, 16);
  }
  return unused;
}
static void *drop(void *first) {
  for (int i = *(int *)first; i < 4000; i += 2) free(object[i]);
  return NULL;
}
int main(void) {
  warm_up(&small);
  for (int round = 0; round < 20; round++) {
    pthread_t t;
    int even = 0, odd = 1;
    pthread_create(&t, NULL, make, NULL);
    pthread_join(t, NULL);
    CHECK(ours(object[0]) && ours(object[1]));
    for (int i = 0; i < 4000; i++) CHECK(*(unsigned char *)object[i] == (unsigned char)i);
    pthread_create(&t, NULL, drop, &odd);
    drop(&even);
    pthread_join(t, NULL);
  }
  puts("done");
  return 0;
}
E
SMALLOC_CONF=debug:on expect_status 0 ours ./t
expect_match out '^done$'
expect_no_match err 'contradict'
