#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A child of fork for which every new mapping is refused still has its own counters. Its allocations
# do not appear in its parent's statistics, and its own statistics are correct.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
$CC -O1 -shared -fPIC "$SMALLOC_SOURCE/tests/integration/fixtures/refuse.c" -o refuse.so || fail "the fixture does not compile"
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/wait.h>
TEST_SITE(big, SMALLOC_DECISION_RUNTIME, 0, 512);
static struct smalloc_statistics now(void) {
  struct smalloc_statistics s = {.bytes = sizeof s};
  smalloc_stats(&s);
  return s;
}
int main(void) {
  char *a = (char *)site_malloc(&big, 6 * MIB);
  CHECK(ours(a));
  struct smalloc_statistics before = now();
  CHECK(before.big_objects_now == 1);
  pid_t child = fork();
  if (child == 0) {
    errno = 0;
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED); /* only libsmalloc is refused */
    for (int i = 0; i < 5; i++) site_malloc(&big, 4 * MIB);
    free(a);
    CHECK(now().big_objects_now == 5 && now().big_objects == before.big_objects + 5);
    _exit(7);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  struct smalloc_statistics after = now();
  CHECK(after.big_objects_now == 1 && after.big_objects == before.big_objects);
  CHECK(after.big_bytes_now == before.big_bytes_now);
  free(a);
  return puts("done") < 0;
}
E
for name in mmap memfd_create ftruncate none; do
  REFUSE_FD=9 REFUSE_IN_CHILD=$name LD_PRELOAD=$tmp/refuse.so expect_status 0 ./t 9>refusals
  [ $name = none ] || [ -s refusals ] || fail "$name was never refused: libsmalloc does not call it in a child"
  expect_match out '^done$'
done
