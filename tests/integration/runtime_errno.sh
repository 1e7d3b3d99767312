#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No entry changes errno, whether it serves or not; our free keeps it; and looking for functions that glibc lacks
# (free_sized) leaves the program no message of dlerror.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include <dlfcn.h>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(base, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
#define SAME(expression) do { errno = 77; expression; CHECK(errno == 77); } while (0)
int main(void) {
  void *p, *q;
  CHECK(dlerror() == NULL);
  for (int round = 0; round < 3; round++) {
    SAME(p = __smalloc_v1_malloc(8 * MIB, &site)); CHECK(p);
    SAME(q = __smalloc_v1_malloc(8 * MIB, &base)); CHECK(q);
    memset(q, 1, 8 * MIB);
    SAME(__smalloc_v1_touching(q, 100000000));
    SAME(p = __smalloc_v1_realloc(p, 30 * MIB, &site)); CHECK(p);
    SAME(free(p)); SAME(free(q));
    SAME(p = __smalloc_v1_malloc(~(size_t)0 / 2, &site)); CHECK(!p);
    SAME(p = __smalloc_v1_calloc(~(size_t)0, 16, &site)); CHECK(!p);
    SAME(p = __smalloc_v1_aligned_alloc(3, 8 * MIB, &site)); CHECK(!p);
    SAME(CHECK(__smalloc_v1_posix_memalign(&p, 4, 8 * MIB, &site) == -1));
    SAME(CHECK(__smalloc_v1_posix_memalign(&p, 8 * MIB, 8 * MIB, &site) == 0));
    CHECK((uintptr_t)p % (8 * MIB) == 0);
    SAME(free(p));
    if (round == 0) warm_up(&small);
    for (int i = 0; i < 3000; i++) { SAME(p = __smalloc_v1_malloc(1000, &small)); SAME(free(p)); }
    SAME(p = __smalloc_v1_malloc(100, &small)); CHECK(p);
    SAME(free(p));
  }
  errno = 0;
  p = __smalloc_v1_malloc(100, &small);
  CHECK(realloc(p, ~(size_t)0 / 2) == NULL && errno == ENOMEM);
  CHECK(dlerror() == NULL);
  puts("done");
  return 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
