#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects of several sites that are allocated together, a key, its value and the entry that holds both, stay side by side in
# the heap of the program's malloc, which gets its superpages in place. A site of which nobody asks for as many is ours.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
build t <<'E'
#define TEST_SMALL_BY SMALLOC_BY_COMPILER
#include "runtime_sites.h"
TEST_SITE(entries, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(keys, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(values, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(lonely, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 500000 };
struct entry { char *key, *value; struct entry *next; };
int main(void) {
  size_t served = 0, together = 0;
  struct entry *all = NULL;
  char *first = NULL;
  for (unsigned i = 0; i < N; i++) {
    char *key = (char *)site_malloc(&keys, 40), *value = (char *)site_malloc(&values, 100);
    struct entry *e = (struct entry *)site_malloc(&entries, sizeof *e);
    memset(key, 1, 40);
    memset(value, 2, 100);
    e->key = key;
    first = first ? first : key;
    e->value = value;
    e->next = all;
    all = e;
    served += ours(key) + ours(value) + ours(e);
    together += (char *)e > key && (char *)e - key < 256;
  }
  printf("%zu served, %zu together\n", served, together);
  CHECK(served == 0 && together > N - N / 100);
  size_t heap = (size_t)((char *)sbrk(0) - first), before = status_kb("RssAnon:");
  for (int i = 0; i < 400; i++) touching(first, 5000000);
  if (&__smalloc_v1_touching) {
    CHECK(smaps(first, heap, "AnonHugePages:") >= 32 * MIB); /* what there was when it was last looked at */
    CHECK(status_kb("RssAnon:") <= before + 512);
  }
  for (struct entry *e = all; e; e = e->next) CHECK(e->key[39] == 1 && e->value[99] == 2);
  CHECK(mmap(NULL, 500 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED); /* malloc's heap is a small part now */
  warm_up(&lonely);
  for (int i = 0; i < 600000; i++) memset(site_malloc(&lonely, 48), 3, 48);
  if (&__smalloc_v1_touching) CHECK(ours(site_malloc(&lonely, 48)));
  return puts("done") < 0;
}
E
expect_status 0 ./t # on its own
SMALLOC_CONF=stats:exit expect_status 0 ours ./t
expect_match out '^done$'
expect_match err 'looks for their sizes, [1-9][0-9]* for objects beside them'
