#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A child of vfork that limits its address space before exec shares its parent's memory: libsmalloc
# gives nothing of it back.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
# shellcheck disable=SC2046 # several words
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/resource.h>
#include <sys/wait.h>
TEST_SITE(matrix, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  CHECK(ours(site_malloc(&matrix, 64 * MIB)));
  const pid_t child = vfork();
  if (child == 0) {
    struct rlimit r = {400 * MIB, 400 * MIB};
    setrlimit(RLIMIT_AS, &r);
    execl("/bin/true", "true", (char *)0);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  for (int i = 0; i < 10; i++)
    CHECK(ours(site_malloc(&matrix, 64 * MIB)));
  puts("all ours");
  return 0;
}
E
SMALLOC_CONF=populate:always expect_status 0 ./t
expect_match out '^all ours$'
