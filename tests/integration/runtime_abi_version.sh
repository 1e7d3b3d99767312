#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs of other plugins than the library's: with another version of the interface all sites stay with malloc; a record that ends
# before what later plugins added is served.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
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
for how in today:1 tomorrow:0 yesterday:1; do
  expect_status 0 ours "./${how%:*}"
  [ "$(cat out)" = "ours ${how#*:}" ] || fail "a plugin of ${how%:*}: $(cat out)"
  [ ! -s err ] || fail "something is printed: $(cat err)"
done
