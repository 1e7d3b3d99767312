#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cold objects never lie on superpages, and hot objects never on base pages, however frees of both
# kinds are mixed across threads, sizes and reallocations. The test looks up every object and counts
# the misplaced ones.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(hot, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
TEST_SITE(cold, SMALLOC_DECISION_BASE, 0, NEVER);
enum { kKinds = 4, kSlots = 3000, kThreads = 4 };
struct slot { char *p; size_t bytes; int kind; };
static struct slot slots[kThreads][kSlots];
static pthread_mutex_t lock[kThreads] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int misplaced[kKinds], served[kKinds];
static char *class_from, *class_to; /* observed range of the class heap */
static size_t some_bytes(unsigned *seed) { unsigned r = (unsigned)rand_r(seed); return r % 50 ? 16 + r % 3000 : 16 + r % 200000; }
static void check(int kind, char *p) {
  int in_class = p >= class_from && p < class_to;
  int right = kind == 0 || kind == 1 ? ours(p) && !in_class /* hot, or requested by the C interface */
              : kind == 2          ? ours(p) && in_class   /* base pages of libsmalloc */
                                   : !ours(p);             /* the program's malloc */
  __atomic_fetch_add(&served[kind], 1, __ATOMIC_RELAXED);
  if (!right) __atomic_fetch_add(&misplaced[kind], 1, __ATOMIC_RELAXED);
}
static char *make(int kind, size_t n) {
  char *p = (char *)(kind == 0 ? site_malloc(&hot, n) : kind == 1 ? smalloc(n, SMALLOC_BOTH) : kind == 2 ? smalloc(n, SMALLOC_BASE)
                     : rand() % 2 ? malloc(n) : site_malloc(&cold, n));
  check(kind, p);
  memset(p, kind, n < 64 ? n : 64);
  return p;
}
static void *work(void *argument) {
  unsigned seed = (unsigned)(size_t)argument;
  for (int i = 0; i < 60000; i++) {
    int t = rand_r(&seed) % kThreads; /* also objects of other threads */
    pthread_mutex_lock(&lock[t]);
    struct slot *s = &slots[t][rand_r(&seed) % kSlots];
    if (!s->p) {
      s->kind = rand_r(&seed) % kKinds;
      s->bytes = some_bytes(&seed);
      s->p = make(s->kind, s->bytes);
    } else if (rand_r(&seed) % 4 == 0) {
      size_t n = some_bytes(&seed);
      s->p = (char *)realloc(s->p, n);
      check(s->kind, s->p);
      s->bytes = n;
    } else {
      CHECK(s->p[0] == s->kind);
      free(s->p);
      s->p = NULL;
    }
    pthread_mutex_unlock(&lock[t]);
  }
  return NULL;
}
int main(void) {
  warm_up(&hot);
  for (int i = 0; i < 40000; i++) free(site_malloc(&hot, 1000)); /* until its heap serves for certain */
  for (int i = 0; i < 500; i++) { /* the class heap's slice is gigabytes away from the other heaps */
    char *p = (char *)smalloc(3000, SMALLOC_BASE);
    if (!class_from) class_from = p - 64 * MIB, class_to = p + 512 * MIB;
  }
  pthread_t t[kThreads];
  for (size_t i = 0; i < kThreads; i++) pthread_create(&t[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < kThreads; i++) pthread_join(t[i], NULL);
  for (int k = 0; k < kKinds; k++) printf("kind %d: %d served, %d misplaced\n", k, served[k], misplaced[k]);
  return 0;
}
E
SMALLOC_CONF=heap:guest,debug:on expect_status 0 timeout 200 ./t
for kind in 0 1 2 3; do expect_match out "^kind $kind: [1-9][0-9][0-9]+ served, 0 misplaced\$"; done
expect_no_match err contradict
