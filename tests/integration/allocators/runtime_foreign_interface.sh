#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that calls another allocator's own functions on its pointers (sdallocx, mi_free ...) is left alone.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
void sdallocx(void *, size_t, int) __attribute__((weak));
int main(void) {
  if (sdallocx) sdallocx(malloc(8), 8, 0);
  return printf("%d\n", ours(site_malloc(&site, 8 * MIB))) < 0;
}
E
expect_status 0 ours ./t
expect_match out '^0$'
expect_match err "warning: the program uses another allocator's own interface \(sdallocx\)"
