#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A set-uid program ignores every key of SMALLOC_CONF except heap:off.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
[ "$(id -u)" = 0 ] || skip "only root can make a set-uid program of another user"
build t $(linked) <<'E'
#include "runtime_sites.h"
#include <sys/auxv.h>
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  void *p = site_malloc(&site, 8 * MIB);
  return printf("secure %lu ours %d\n", getauxval(AT_SECURE), ours(p)) < 0;
}
E
chmod 755 "$tmp" && chown nobody t && chmod u+s t
status=0
SMALLOC_CONF=stats:exit,nonsense:1,debug:on ./t >out 2>err || status=$?
grep -q 'error while loading' err && skip "the build folder is closed to other users"
[ $status = 0 ] || fail "status $status"
grep -q 'secure 1' out || skip "set-uid has no effect in this folder"
expect_match out 'ours 1'
[ ! -s err ] || fail "something is printed: $(cat err)"
SMALLOC_CONF=heap:off expect_status 0 ./t
expect_match out 'ours 0'
