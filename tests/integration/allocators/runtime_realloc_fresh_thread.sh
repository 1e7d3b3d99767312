#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# realloc of libsmalloc's objects to every size, on a thread that never allocated from libsmalloc.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
static void *body(void *p) {
  static const size_t sizes[] = {10, 5000, 70000, 1500000, 5 * MIB, 40 * MIB, 3 * MIB, 900000, 100, 20 * MIB, 1};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    p = realloc(p, sizes[i]);
    CHECK(p && *(char *)p == 42 && malloc_usable_size(p) >= sizes[i]);
    memset((char *)p + 1, 1, sizes[i] - 1);
  }
  free(p);
  return NULL;
}
int main(void) {
  warm_up(&small);
  for (int i = 0; i < 30; i++) {
    pthread_t t;
    char *p = (char *)site_malloc(&small, 64);
    CHECK(ours(p));
    *p = 42;
    pthread_create(&t, NULL, body, p);
    pthread_join(t, NULL);
  }
  puts("done");
  return 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
