#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every system call of libsmalloc is refused once: the first in one run, the second in the next,
# until a run succeeds. Then everything is refused from some call on. The program gets its memory,
# its bytes are right, fresh memory is zero, the tables agree and nothing is left behind.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
$CC -O1 -shared -fPIC "$SMALLOC_SOURCE/tests/integration/fixtures/refuse.c" -o refuse.so || fail "the fixture does not compile"
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <malloc.h>
#include <sys/wait.h>
/* A refused call causes no message and does not change errno. */
#define SAME(expression) do { errno = 4711; expression; CHECK(errno == 4711); } while (0)
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 512);
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(dense, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
static int all(const char *p, size_t n, int value) { for (size_t i = 0; i < n; i += 1024) if (p[i] != value) return 0; return p[n - 1] == value; }
static void *elsewhere(void *unused) { /* another arena */
  for (int i = 1; i < 400; i++) { char *p; SAME(p = (char *)site_malloc(&small, i * 40)); CHECK(p); memset(p, 3, i * 40); SAME(free(p)); }
  return unused;
}
enum { SMALLS = 3000, CLASSES = 700 };
static char *object[SMALLS], *class_object[CLASSES];
int main(void) {
  warm_up(&small);
  for (int round = 0; round < 2; round++) {
    char *a, *b, *c;
    SAME(a = (char *)site_malloc(&dense, 6 * MIB)); SAME(b = (char *)site_malloc(&big, 7 * MIB + 5000)); SAME(c = (char *)site_calloc(&dense, 5, MIB));
    CHECK(a && b && c && all(c, 5 * MIB, 0));
    memset(a, 1, 6 * MIB), memset(b, 2, 7 * MIB + 5000), memset(c, 3, 5 * MIB);
    for (int i = 0; i < 3; i++) SAME(touching(b, 5000000));
    SAME(b = (char *)site_realloc(&big, b, 12 * MIB)); CHECK(b && all(b, 7 * MIB + 5000, 2));
    SAME(c = (char *)site_realloc(&dense, c, 3 * MIB)); CHECK(c && all(c, 3 * MIB, 3));
    SAME(a = (char *)site_realloc(&dense, a, 7 * MIB)); CHECK(a && all(a, 6 * MIB, 1));
    SAME(free(a));
    SAME(a = (char *)site_calloc(&dense, 3, 2 * MIB)); CHECK(a && all(a, 6 * MIB, 0));
    for (int i = 0; i < SMALLS; i++) { SAME(object[i] = (char *)site_calloc(&small, 1, 1000)); CHECK(object[i] && all(object[i], 1000, 0)); memset(object[i], i % 100 + 1, 1000); }
    for (int i = 0; i < CLASSES; i++) { SAME(class_object[i] = (char *)smalloc_malloc(4000, SMALLOC_BASE)); CHECK(class_object[i]); memset(class_object[i], i % 100 + 1, 4000); }
    for (int i = 0; i < 3; i++) SAME(touching(object[0], 5000000));
    smalloc_heap_migrate();
    for (int i = 0; i < SMALLS; i++) if (i % 16) { CHECK(all(object[i], 1000, i % 100 + 1)); SAME(free(object[i])); object[i] = NULL; }
    smalloc_trim();
    pthread_t t;
    CHECK(pthread_create(&t, NULL, elsewhere, NULL) == 0 && pthread_join(t, NULL) == 0);
    pid_t child = fork();
    if (child == 0) { elsewhere(NULL); free(b); free(site_malloc(&dense, 9 * MIB)); _exit(5); }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    for (int i = 0; i < SMALLS; i++) if (object[i]) { CHECK(all(object[i], 1000, i % 100 + 1)); SAME(free(object[i])); }
    for (int i = 0; i < CLASSES; i++) { CHECK(all(class_object[i], 4000, i % 100 + 1)); SAME(free(class_object[i])); }
    CHECK(all(b, 7 * MIB, 2) && all(c, 3 * MIB, 3));
    SAME(free(a)); SAME(free(b)); SAME(free(c));
  }
  smalloc_trim();
  malloc_trim(0); /* memory that glibc served instead */
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  CHECK(s.big_objects_now == 0 && s.big_bytes_now == 0);
  printf("resident %zu, superpages %llu of %llu\n", status_kb("VmRSS:"), (unsigned long long)s.superpages_now, (unsigned long long)s.superpages_peak);
  return 0;
}
E
export REFUSE_LOG=$tmp/log
refusing() { # FIRST COUNT
  timeout 60 env REFUSE_FIRST="$1" REFUSE_COUNT="$2" LD_PRELOAD="$tmp/refuse.so" SMALLOC_CONF=debug:on ./t >out 2>err ||
    { cat out err >&2; fail "refusing $2 calls from call $1 on: status $?"; }
  expect_no_match err contradict
  read -r _ calls _ refused what <log
}
refusing 1000000 1
[ "$calls" -ge 100 ] && [ "$refused" = 0 ] || fail "the fixture sees $calls calls"
expect_match out 'superpages [0-9]+ of [1-9]'
total=$calls
read -r _ usual _ <out
usual=${usual%,}
echo "$total calls, $usual KiB resident"
run=0
for ((first = ${FIRST:-0}; ; first++)); do
  refusing $first 1
  [ "$refused" = 1 ] || break
  run=$((run + 1))
  read -r _ resident _ <out
  # A unit that was not given back would be at least 2 MiB. jemalloc loses an extent if it gets no
  # memory for its own data, which it maps in pieces of 4 MiB.
  least=1900
  case $what in mprotect*' 41'[0-9][0-9][0-9][0-9][0-9]', '*) least=$((least + 2048)) ;; esac
  [ "${resident%,}" -le $((usual + least)) ] || { cat out; fail "call $first ($what) refused: ${resident%,} KiB resident instead of $usual"; }
done
[ $run -ge $((total * 3 / 4)) ] || fail "only $run of $total calls were refused"
for ((first = 0; first < total; first += total / 12 + 1)); do refusing $first 1000000; done
echo "$run calls refused one by one"
