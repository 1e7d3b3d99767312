#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a site got before it was served dies in the heap of the program's malloc, where nobody fills the holes: the pages that
# are free there go back to the system while the site goes on.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
build t <<'E'
#define TEST_SMALL_BY SMALLOC_BY_COMPILER
#include "runtime_sites.h"
TEST_SITE(nodes, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 1000000 };
static char *node[N];
static char *last; /* the highest in malloc's heap: nothing above it, so malloc itself cannot give back what is below */
int main(void) {
  CHECK(mmap(NULL, 80 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED);
  char *start = (char *)sbrk(0);
  unsigned outside = 0;
  for (unsigned i = 0; i < N; i++) {
    memset(node[i] = (char *)site_malloc(&nodes, 48), 1, 48);
    outside += !ours(node[i]);
  }
  memset(last = (char *)malloc(4000), 1, 4000);
  size_t heap = (size_t)(last - start), before = smaps(start, heap, "Rss:");
  for (unsigned i = 0; i < N; i++)
    if (!ours(node[i])) free(node[i]), node[i] = NULL;
  for (unsigned i = 0; i < 6 * N; i++) { /* 288 MiB more */
    char *p = (char *)site_malloc(&nodes, 48);
    p[0] = 1;
    free(p);
  }
  size_t after = smaps(start, heap, "Rss:");
  printf("%u of %u outside, %zu MiB resident there and then %zu\n", outside, N, before / MIB, after / MIB);
  if (&__smalloc_v1_touching) {
    CHECK(outside > N / 20 && outside < N / 2 && before >= 4 * MIB);
    CHECK(after <= MIB);
  }
  return puts("done") < 0;
}
E
expect_status 0 ./t # on its own
SMALLOC_CONF=stats:exit expect_status 0 ours ./t
cat out
expect_match out '^done$'
expect_match err "malloc's heap trimmed: *[1-9]"
