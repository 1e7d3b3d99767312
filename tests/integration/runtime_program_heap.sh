#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Small objects whose sizes vary would cost memory in our heap: they stay with the program's malloc, and its heap gets its
# superpages in place, where a loop that pays for them is about to run. A site that was served is served no longer once
# its sizes drift; one of a single size goes on being served. Where any size may follow, only objects that need a quarter more in
# glibc's heap are ours.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
build t <<'E'
#define TEST_SMALL_BY SMALLOC_BY_COMPILER
#include "runtime_sites.h"
#include <malloc.h>
TEST_SITE(varied, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(steady, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL | SMALLOC_SITE_ANY_SIZE, 2048);
TEST_SITE(any_size, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL | SMALLOC_SITE_ANY_SIZE, 2048);
TEST_SITE(one_size, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 160000, SMALL = 48, LARGE = 112 };
static unsigned char *object[N];
static size_t bytes_of(unsigned i) { return 200 + i * 7919u % 1000; }
int main(void) {
  size_t served = 0, heap;
  for (unsigned i = 0; i < N; i++) {
    object[i] = (unsigned char *)site_malloc(&varied, bytes_of(i));
    memset(object[i], (int)i, bytes_of(i));
    served += ours(object[i]);
  }
  CHECK(served == 0);
  heap = (size_t)((char *)sbrk(0) - (char *)object[0]);
  CHECK(heap > 100 * MIB);
  size_t before = smaps(object[0], heap, "AnonHugePages:"), resident = status_kb("RssAnon:");
  for (int i = 0; i < 400; i++) touching(object[i], 5000000);
  size_t after = smaps(object[0], heap, "AnonHugePages:");
  printf("heap %zu, on superpages %zu and then %zu, resident %zu KiB and then %zu\n", heap / MIB, before / MIB, after / MIB, resident, status_kb("RssAnon:"));
  if (&__smalloc_v1_touching) {
    CHECK(after >= 56 * MIB); /* what there was when it was last looked at, at 64 MiB */
    CHECK(status_kb("RssAnon:") <= resident + 512);
  }
  for (unsigned i = 0; i < N; i++)
    for (size_t k = 0; k < bytes_of(i); k += 97) CHECK(object[i][k] == (unsigned char)i);
  for (unsigned i = 0; i < N; i++) free(object[i]);
  malloc_trim(0);
  CHECK(smaps(object[0], heap, "Rss:") <= 8 * MIB);

  CHECK(mmap(NULL, 500 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED);
  for (int i = 0; i < 1500000; i++) free(site_malloc(&steady, i % 5 < 2 ? SMALL : SMALL / 3)); /* 41 MiB */
  if (&__smalloc_v1_touching) CHECK(ours(site_malloc(&steady, SMALL)));
  served = 0;
  for (int i = 0; i < 2000000; i++) served += ours(site_malloc(&steady, i % 5 < 2 ? SMALL : SMALL / 3)); /* 55 MiB */
  if (&__smalloc_v1_touching) CHECK(served == 2000000);
  size_t of_one = 0, of_any = 0;
  for (int i = 0; i < 400000; i++) { /* 43 MiB each; in turns: each of them looks when the other does */
    of_one += ours(site_malloc(&one_size, LARGE));
    of_any += ours(site_malloc(&any_size, LARGE));
  }
  printf("of one size %zu, of any %zu\n", of_one, of_any);
  CHECK(of_any == 0);
  if (&__smalloc_v1_touching) CHECK(of_one > 200000);
  for (unsigned i = 0; i < N; i++) served = ours(object[i] = (unsigned char *)site_malloc(&steady, bytes_of(i)));
  CHECK(!served); /* it has drifted */
  for (unsigned i = 0; i < N; i++) free(object[i]);
  return puts("done") < 0;
}
E
expect_status 0 ./t # on its own
expect_status 0 ours ./t
cat out
expect_match out '^done$'
SMALLOC_CONF=promote:off expect_status 1 ours ./t # nothing is promoted
expect_match err 'after >= 56'
