#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Destructors of thread-local objects free and allocate through libsmalloc after the allocator has
# given up its own thread state.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
static pthread_key_t key;
static int calls;
static void late(void *p) { /* each round runs after another round of the allocator's destructors */
  free(p);
  if (++calls % 4 == 0) return;
  void *q = site_malloc(&small, 500);
  CHECK(ours(q));
  memset(q, 1, 500);
  free(site_malloc(&big, 4 * MIB));
  pthread_setspecific(key, q);
}
static void *body(void *unused) {
  free(site_malloc(&small, 100));
  pthread_setspecific(key, site_malloc(&small, 200));
  return unused;
}
static void *never(void *p) { /* uses libsmalloc's heaps only in the destructor */
  pthread_setspecific(key, p);
  return NULL;
}
int main(void) {
  pthread_key_create(&key, late);
  warm_up(&small);
  for (int i = 0; i < 50; i++) {
    pthread_t a, b;
    pthread_create(&a, NULL, body, NULL);
    pthread_join(a, NULL);
    pthread_create(&b, NULL, never, site_malloc(&small, 300));
    pthread_join(b, NULL);
  }
  CHECK(calls == 400);
  puts("done");
  return 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
