#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Four threads allocate, resize, promote and exchange objects of every size: no byte is lost, and
# the tables agree at the end, under each strategy.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(dense, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(unknown, SMALLOC_DECISION_BASE, SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_SMALL, 2048);
struct head { size_t bytes; unsigned char stamp; };
static struct head *slot[64]; /* exchanged atomically: objects change threads all the time */
static void check_and(struct head *h, int how, unsigned *seed) {
  if (!h) return;
  unsigned char *p = (unsigned char *)h;
  for (size_t i = sizeof *h; i < h->bytes; i += 4096) CHECK(p[i] == h->stamp);
  if (how == 0) {
    size_t n = sizeof *h + 1 + (size_t)rand_r(seed) % (rand_r(seed) % 6 ? 20000 : 12 * MIB), had = h->bytes;
    h = (struct head *)realloc(h, n);
    p = (unsigned char *)h;
    for (size_t i = sizeof *h; i < n && i < had; i += 4096) CHECK(p[i] == h->stamp);
  }
  free(h);
}
static void *body(void *seed_) {
  unsigned seed = (unsigned)(size_t)seed_;
  struct smalloc_cell *sites[] = {&small, &small, &unknown, &big, &dense};
  for (int i = 0; i < 12000; i++) {
    size_t n = sizeof(struct head) + 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 40 ? 9000 : 9 * MIB);
    struct head *h = (struct head *)site_malloc(sites[rand_r(&seed) % 5], n);
    h->bytes = n;
    h->stamp = (unsigned char)rand_r(&seed);
    memset(h + 1, h->stamp, n - sizeof *h);
    touching(h, 50000);
    check_and(__atomic_exchange_n(&slot[rand_r(&seed) % 64], h, __ATOMIC_ACQ_REL), rand_r(&seed) % 4, &seed);
    if (i % 3000 == 0) smalloc_trim();
  }
  return NULL;
}
int main(void) {
  pthread_t t[4];
  for (size_t i = 0; i < 4; i++) pthread_create(&t[i], NULL, body, (void *)(i + 1));
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  for (int i = 0; i < 64; i++) check_and(slot[i], 1, NULL);
  CHECK(__smalloc_v1_pending <= 1); /* at most the heap of small objects */
  return puts("done") < 0;
}
E
for conf in heap:auto heap:guest heap:migrate heap:superpage heap:auto,cache:0,promote:eager; do
  SMALLOC_CONF=$conf,debug:on expect_status 0 timeout 100 ./t
  expect_match out '^done$'
  expect_no_match err contradict
done
