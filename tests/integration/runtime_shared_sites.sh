#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Threads that ask at one site, which is left to the program's malloc, do not write to a line that they share: each counts
# for itself and tells the cell once in a while. What the cells say then is an estimate, fair to sites that take turns; a site
# of one thread goes on being counted exactly.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
build t <<'E'
#define TEST_SMALL_BY SMALLOC_BY_COMPILER
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(large, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
TEST_SITE(lonely, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
enum { N = 2000000, APART = 16381 };
static pthread_barrier_t both;
static void *take_turns(void *unused) {
  pthread_barrier_wait(&both); /* neither is through before the other begins */
  for (int i = 0; i < N; i++) {
    if (i == N / 4 || i == N / 2) pthread_barrier_wait(&both);
    free(site_malloc(&small, 16));
    free(site_malloc(&large, 48));
  }
  return unused;
}
static void *take_one(void *unused) {
  free(site_malloc(&large, 48));
  return unused;
}
static void near(uint64_t found, uint64_t expected) {
  printf("%llu for %llu\n", (unsigned long long)found, (unsigned long long)expected);
  CHECK(found > expected - expected / 10 && found < expected + expected / 10);
}
int main(void) {
  pthread_t t[2];
  pthread_barrier_init(&both, NULL, 2);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, take_turns, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  for (int i = 0; i < N; i++) free(site_malloc(&lonely, 32));
  if (!&__smalloc_v1_touching) return puts("done") < 0; /* not under our library */
  near(small.requested_bytes, 2ull * N * 16);
  near(large.requested_bytes, 2ull * N * 48);
  CHECK(lonely.requested_bytes == 32ull * N);
  CHECK((small.word & SMALLOC_CELL_SHARED) && !(small.word & SMALLOC_CELL_LEFT));
  CHECK((lonely.word & SMALLOC_CELL_LEFT) && !(lonely.word & SMALLOC_CELL_SHARED));
  uint64_t before = large.requested_bytes;
  for (int i = 0; i < 1000; i++) free(site_malloc(&large, 48));
  CHECK((large.requested_bytes - before) % APART == 0 && large.requested_bytes - before <= 4 * APART);
  /* A thread that asks for little tells nothing. */
  before = large.requested_bytes;
  for (int i = 0; i < 1000; i++) {
    pthread_create(&t[0], NULL, take_one, NULL);
    pthread_join(t[0], NULL);
  }
  CHECK(large.requested_bytes == before);
  return puts("done") < 0;
}
E
expect_status 0 ./t # on its own
expect_status 0 ours ./t
expect_match out '^done$'
