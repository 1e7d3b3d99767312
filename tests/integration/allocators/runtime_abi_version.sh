#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs of an earlier plugin, whose module record is shorter, are served. A program with an
# invalid record runs.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
source='#include <stddef.h>
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  char *p = (char *)site_malloc(&site, 8 * MIB);
  memset(p, 1, 8 * MIB);
  int mine = ours(p);
  free(p);
  return printf("ours %d\n", mine) < 0;
}'
build today <<<"$source"
build tomorrow -DTEST_VERSION=9 <<<"$source"
build yesterday "-DTEST_BYTES=offsetof(struct smalloc_module, keys_start)" <<<"$source"
for program in today yesterday tomorrow; do
  expect_status 0 ours ./$program
  [ $program = tomorrow ] || [ "$(cat out)" = "ours 1" ] || fail "a plugin of $program: $(cat out)"
  [ ! -s err ] || fail "something is printed: $(cat err)"
done
