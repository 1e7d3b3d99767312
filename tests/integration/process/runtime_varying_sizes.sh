#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects of sites whose sizes vary (the bitmap heap): no two live objects overlap, contents stay
# across realloc, objects move between threads, children of fork go on, and what was freed serves
# larger objects and goes back to the system.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build varying -fno-builtin $(linked) <<'C'
#include "runtime_sites.h"
#include <malloc.h>
#include <sys/wait.h>
TEST_SITE(varying, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_ANY_SIZE, 512);
enum { kThreads = 4, kSlots = 4000, kShared = 500 };
struct slot { unsigned char *p; size_t bytes; unsigned char mark; };
static struct slot shared[kShared];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* An entry that returns NULL leaves the request to the program's function. */
static void *take(size_t bytes) { void *p = __smalloc_v1_malloc(bytes, &varying); return p ? p : malloc(bytes); }
static void *resize(void *p, size_t bytes) { void *r = __smalloc_v1_realloc(p, bytes, &varying); return r ? r : realloc(p, bytes); }
static unsigned next_of(unsigned *state) { return *state = *state * 1103515245u + 12345u, *state >> 8; }
static void check(const struct slot *s, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) CHECK(s->p[i] == s->mark);
}
static size_t size_of(unsigned *state, long step) { return 1 + next_of(state) % (step / 20000 % 2 ? 8192 : 300); }
static void replace(struct slot *s, unsigned *state, long step) {
  const size_t bytes = size_of(state, step);
  if (s->p && next_of(state) % 3 == 0) {
    s->p = resize(s->p, bytes);
    CHECK(s->p);
    check(s, bytes < s->bytes ? bytes : s->bytes);
  } else {
    if (s->p) check(s, s->bytes);
    free(s->p);
    s->p = take(bytes);
  }
  CHECK(s->p && (size_t)s->p % 16 == 0 && malloc_usable_size(s->p) >= bytes);
  s->bytes = bytes;
  s->mark = (unsigned char)next_of(state);
  memset(s->p, s->mark, bytes);
}
static void *work(void *argument) {
  unsigned state = 1 + (unsigned)(size_t)argument;
  struct slot *own = calloc(kSlots, sizeof *own);
  for (long step = 0; step < 100000; step++) {
    struct slot *s = &own[next_of(&state) % kSlots];
    replace(s, &state, step);
    if (step % 16 == 0) { /* another thread frees it */
      pthread_mutex_lock(&lock);
      struct slot *other = &shared[next_of(&state) % kShared], kept = *other;
      *other = *s;
      *s = kept;
      pthread_mutex_unlock(&lock);
    }
    if (step % 25000 == 1000 * (long)(size_t)argument) {
      pid_t child = fork();
      if (child == 0) {
        for (long k = 0; k < 2000; k++) replace(&own[next_of(&state) % kSlots], &state, k);
        _exit(0);
      }
      int status;
      CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
  }
  for (int i = 0; i < kSlots; i++) {
    if (own[i].p) check(&own[i], own[i].bytes);
    free(own[i].p);
  }
  free(own);
  return NULL;
}
static void other_free(void *p) { (void)p; }
int main(int argc, char **argv) {
  for (int i = 0; i < 100; i++) free(take(12000)); /* from the program's malloc */
  for (int i = 0; i < 100000; i++) memset(malloc(100), 1, 100); /* no longer a small process */
  void *p = take(1100); /* jemalloc's size class is 1,280 */
  if (argc > 1 && !strcmp(argv[1], "off")) { /* the executable's free turns out not to be libsmalloc's */
    static struct smalloc_module late;
    late = test_module;
    late.free_function = (void *)other_free;
    late.sites_start = late.sites_stop = NULL; /* the sites are another image's */
    void *q = __smalloc_v1_malloc(1000, &varying);
    __smalloc_v1_register_module(&late);
    printf("before %d", q && smalloc_is_ours(q));
    p = __smalloc_v1_malloc(1000, &varying);
    printf(" after %d\n", p && smalloc_is_ours(p));
    return 0;
  }
  printf("ours %d usable %zu\n", smalloc_is_ours(p), malloc_usable_size(p));
  free(p);
  pthread_t threads[kThreads];
  for (size_t i = 1; i < kThreads; i++) CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
  work(NULL);
  for (int i = 1; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < kShared; i++) free(shared[i].p);
  /* Freed objects of 112 bytes make room for half as many of 224. */
  enum { kMany = 300000 };
  static void *many[kMany];
  for (int i = 0; i < kMany; i++) CHECK((many[i] = memset(take(112), 1, 112)));
  size_t before = status_kb("VmRSS:");
  for (int i = 0; i < kMany; i++) free(many[i]);
  for (int i = 0; i < kMany / 2; i++) CHECK((many[i] = memset(take(224), 1, 224)));
  printf("grown %d\n", (int)(status_kb("VmRSS:") > before + before / 4)); /* twice as much if they stayed apart */
  for (int i = 0; i < kMany / 2; i++) free(many[i]);
  /* The same between objects that stay: no span becomes empty. */
  enum { kStays = 16 };
  for (int i = 0; i < kMany; i++) CHECK((many[i] = memset(take(112), 1, 112)));
  size_t holes = status_kb("VmRSS:");
  for (int i = 0; i < kMany; i++)
    if (i % kStays) free(many[i]), many[i] = NULL;
  for (int i = 0; i < kMany; i++)
    if (i % kStays && i % 2) CHECK((many[i] = memset(take(224), 1, 224)));
  printf("joined %d\n", status_kb("VmRSS:") < holes + holes / 4);
  for (int i = 0; i < kMany; i++) free(many[i]);
  /* Objects of many sizes, freed in an order of no address: cached ones keep few spans. */
  unsigned state = 5;
  for (int i = 0; i < kMany / 4; i++) CHECK((many[i] = memset(take(17 + next_of(&state) % 1500), 1, 17)));
  for (int i = kMany / 4 - 1; i > 0; i--) {
    int k = (int)(next_of(&state) % (unsigned)(i + 1));
    void *p = many[k];
    many[k] = many[i];
    free(p);
  }
  for (int i = 0; i < 200; i++) { free(malloc(100000)); usleep(10000); } /* decay */
  printf("freed %d\n", (int)(status_kb("VmRSS:") > before - 16 * 1024));
  smalloc_trim();
  printf("kept %d\n", (int)(status_kb("VmRSS:") > before - 24 * 1024));
  return 0;
}
C
expect_status 0 timeout 300 ./varying
expect_match out '^ours 1 usable 1104$'
expect_match out '^grown 0$'
expect_match out '^joined 1$'
expect_match out '^freed 0$'
expect_match out '^kept 0$'
expect_status 0 ./varying off
expect_match out '^before 1 after 0$'
# Another malloc behind libsmalloc, whose heap is not below the break, changes nothing.
jemalloc=$(ldconfig -p 2>/dev/null | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
if [ -n "$jemalloc" ]; then
  LD_PRELOAD="$LIB $jemalloc" expect_status 0 timeout 300 ./varying
  expect_match out '^ours 1 usable 1104$'
fi
SMALLOC_CONF=pages:base expect_status 0 timeout 300 ./varying
SMALLOC_CONF=stats:exit expect_status 0 timeout 300 ./varying
expect_match out '^ours 1 usable 1104$'
# With small objects charged to their sites, the program's malloc serves them.
SMALLOC_CONF=debug:on expect_status 0 timeout 300 ./varying

# Objects of 56 bytes, which take a cache line, lie in one line each, also where smaller objects lie
# between them.
build lines -fno-builtin $(linked) <<'C'
#include "runtime_sites.h"
TEST_SITE(varying, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_ANY_SIZE, 512);
int main(void) {
  enum { N = 40000 };
  warm_up(&varying);
  int crossing = 0, ours_too = 0;
  for (int i = 0; i < N; i++) {
    __smalloc_v1_malloc(24 + 16 * (i % 2), &varying);
    const char *p = (const char *)__smalloc_v1_malloc(56, &varying);
    crossing += (size_t)p % 64 != 0;
    ours_too += p && ours(p);
  }
  printf("crossing %d ours %d\n", crossing > N / 50, ours_too == N);
  return 0;
}
C
expect_status 0 ./lines
expect_match out '^crossing 0 ours 1$'
