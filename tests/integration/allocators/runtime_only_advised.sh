#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With `only-advised:on`, on a system with THP `always`, the program's own memory stays on base pages.
# libsmalloc's memory gets superpages, at first touch and by promotion. A kernel before 6.18 cannot
# do this, and one line says so.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
. "$SMALLOC_SOURCE/tests/integration/fixtures/pool.bash"
need_thp
build t <<'E'
#include "runtime_sites.h"
#include <sys/mman.h>
#include <sys/prctl.h>
TEST_SITE(whole_at_once, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(later, SMALLOC_DECISION_RUNTIME, 0, 512);
int main(void) {
  char *mine = (char *)site_malloc(&whole_at_once, 32 * MIB), *slow = (char *)site_malloc(&later, 32 * MIB);
  char *other = (char *)mmap(0, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ours(mine) && ours(slow));
  memset(mine, 1, 32 * MIB), memset(slow, 1, 32 * MIB), memset(other, 1, 32 * MIB);
  size_t before = smaps(slow, 32 * MIB, "AnonHugePages:") / MIB;
  for (int i = 0; i < 400; i++) touching(slow, 1000000);
  printf("flags %d ours %d promoted %zu->%d other %zu\n", prctl(42, 0, 0, 0, 0), smaps(mine, 32 * MIB, "AnonHugePages:") >= 30 * MIB,
         before, smaps(slow, 32 * MIB, "AnonHugePages:") >= 28 * MIB, smaps(other, 32 * MIB, "AnonHugePages:") / MIB);
  return 0;
}
E
SMALLOC_CONF=heap:guest,only-advised:on,populate:always,debug:on expect_status 0 ours ./t
if grep -q 'warning: only-advised:' err; then
  [ "$(grep -c warning: err)" = 1 ] || { cat err; fail "not exactly one line"; }
  expect_match out '^flags 0 ours 1'
  skip "the kernel cannot restrict superpages to advised memory; one line says so"
fi
expect_match out '^flags 3 ours 1 promoted 0->1 other 0$'
ours ./t >out
expect_match out '^flags 0 '
if [ "$(thp_mode)" != always ]; then
  # Changing it here would change what other programs of the machine measure.
  [ "${SMALLOC_TEST_SYSTEM:-}" = 1 ] || { echo "with SMALLOC_TEST_SYSTEM=1 also under THP=always"; exit 0; }
  one_at_a_time
  switch_pages enabled always
fi
ours ./t >out
expect_match out ' other (2[0-9]|3[0-2])$'
SMALLOC_CONF=heap:guest,only-advised:on,populate:always,debug:on expect_status 0 ours ./t
expect_match out '^flags 3 ours 1 promoted 0->1 other 0$'
