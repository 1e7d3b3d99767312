#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Core dumps contain the memory in use, but not the reservation.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
int main(void) {
  char *p = (char *)site_malloc(&site, 8 * MIB);
  CHECK(ours(p));
  memset(p, 1, 8 * MIB);
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from = 0, to = 0, dumped = 0, reserved = 0, a, b;
  int found = 0;
  while (fgets(line, sizeof line, f)) {
    if (strncmp(line, "VmFlags:", 8) != 0) {
      if (sscanf(line, "%lx-%lx ", &a, &b) == 2) from = a, to = b;
      continue;
    }
    int dd = strstr(line, " dd") != NULL;
    if (from <= (unsigned long)p && (unsigned long)p < to) { CHECK(!dd); found = 1; }
    if (dd) reserved += to - from;
    else if (to - from > dumped) dumped = to - from;
  }
  CHECK(found);
  printf("%d %d\n", reserved > (1ul << 30), dumped < (1ul << 28));
  return 0;
}
E
expect_status 0 ours ./t
expect_match out '^1 1$'
