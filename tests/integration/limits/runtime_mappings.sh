#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Twenty thousand big objects do not use up the mappings of the process: libsmalloc's mappings stop
# at an eighth of the limit and malloc still works.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  int mine = 0, lines = 0, c;
  for (int i = 0; i < 20000; i++) {
    char *p = (char *)site_malloc(&site, 2 * MIB + 12345);
    CHECK(p);
    mine += ours(p);
  }
  FILE *f = fopen("/proc/self/maps", "r");
  while ((c = getc(f)) != EOF) lines += c == '\n';
  CHECK(mine > 1000 && mine < 20000);
  CHECK(lines < 40000);
  CHECK(malloc(100 * MIB));
  return puts("done") < 0;
}
E
expect_status 0 ours ./t
expect_match out '^done$'
