#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lists that grow by realloc, most of a graph's memory: what they grow by counts as requested, they stay with the program's malloc
# (taking them over would leave a hole for each), and its heap gets its superpages in place.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
build t <<'E'
#define TEST_SMALL_BY SMALLOC_BY_COMPILER
#include "runtime_sites.h"
TEST_SITE(lists, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 300000, MOST = 32 };
static int *list[N];
int main(void) {
  size_t served = 0;
  char *start = (char *)sbrk(0);
  for (unsigned n = 2; n <= MOST; n *= 2)
    for (unsigned i = 0; i < N; i++) {
      list[i] = (int *)site_realloc(&lists, list[i], n * sizeof(int));
      for (unsigned k = n / 2; k < n; k++) list[i][k] = (int)(i + k);
      if (n == 2) list[i][0] = (int)i;
      served += ours(list[i]);
    }
  CHECK(served == 0);
  printf("%llu requested\n", (unsigned long long)lists.requested_bytes);
  /* What they grow by beyond the places that they have, as a sample of them says. */
  if (&__smalloc_v1_touching) CHECK(lists.requested_bytes > 26 * MIB && lists.requested_bytes < 29 * MIB);
  size_t heap = (size_t)((char *)sbrk(0) - start), before = status_kb("RssAnon:");
  CHECK(heap > 40 * MIB);
  for (int i = 0; i < 400; i++) touching(list[0], 5000000);
  size_t after = smaps(start, heap, "AnonHugePages:");
  printf("heap %zu MiB, %zu MiB on superpages\n", heap / MIB, after / MIB);
  if (&__smalloc_v1_touching) {
    CHECK(after >= 16 * MIB);
    CHECK(status_kb("RssAnon:") <= before + 512);
  }
  for (unsigned i = 0; i < N; i++)
    for (unsigned k = 0; k < MOST; k++) CHECK(list[i][k] == (int)(i + k));
  for (unsigned i = 0; i < N; i++) free(list[i]);
  return puts("done") < 0;
}
E
expect_status 0 ./t # on its own
expect_status 0 ours ./t
cat out
expect_match out '^done$'
