#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# After mlockall(MCL_FUTURE) the heaps work and do not lock the reservation.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  struct rlimit locked;
  getrlimit(RLIMIT_MEMLOCK, &locked);
  if (geteuid() != 0 && locked.rlim_cur < (256 << 20)) return 77; // every malloc would fail
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  warm_up(&small);
  for (int i = 0; i < 20; i++) {
    char *p = (char *)site_calloc(&site, 1, 8 * MIB), *q = (char *)site_calloc(&small, 1, 3000);
    for (size_t k = 0; k < 8 * MIB; k++) CHECK(p[k] == 0);
    for (int k = 0; k < 3000; k++) CHECK(q[k] == 0);
    memset(p, 1, 8 * MIB), memset(q, 1, 3000);
    free(p), free(q);
  }
  CHECK(status_kb("VmRSS:") < 100 * 1024);
  return puts("done") < 0;
}
E
status=0
ours ./t >out 2>err || status=$?
[ $status = 77 ] && skip "mlockall is not permitted, or for less than 256 MiB (ulimit -l)"
[ $status = 0 ] || { cat err; fail "status $status"; }
expect_match out '^done$'
