#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With THP `always`, objects that start on base pages really lie on base pages, although the kernel
# would give the first touch a superpage. They can still be promoted, and freed memory returns to
# base pages. A sysfs of the test simulates the setting; on a system with `always` the same program
# runs against the real one.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
export SMALLOC_CONF=heap:guest,populate:always # beside the program's malloc
need_thp
mkdir -p sys/kernel/mm/transparent_hugepage
echo '[always] madvise never' >sys/kernel/mm/transparent_hugepage/enabled
build t $(linked) <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, 0, 512);
/* True if the mapping at p is marked MADV_NOHUGEPAGE. */
static int refused(const char *p) {
  FILE *f = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from = 0, to = 0, a, b;
  int nh = -1;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx ", &a, &b) == 2) from = a, to = b;
    else if (strncmp(line, "VmFlags:", 8) == 0 && from <= (unsigned long)p && (unsigned long)p < to) nh = strstr(line, " nh") != NULL;
  fclose(f);
  return nh;
}
int main(void) {
  for (int round = 0; round < 3; round++) {
    char *p = (char *)site_malloc(&site, 64 * MIB);
    CHECK(ours(p));
    CHECK(refused(p + 10 * MIB) == 1);
    memset(p, 1, 64 * MIB);
    CHECK(smaps(p, 64 * MIB, "AnonHugePages:") == 0);
    for (int i = 0; i < 400 || (i < 8000 && smaps(p, 64 * MIB, "AnonHugePages:") < 60 * MIB); i++) touching(p, 1000000);
    CHECK(smaps(p, 64 * MIB, "AnonHugePages:") >= 60 * MIB);
    for (size_t i = 0; i < 64 * MIB; i++) CHECK(p[i] == 1);
    free(p);
    struct smalloc_statistics s = {.bytes = sizeof s};
    smalloc_stats(&s);
    CHECK(s.superpages_now == 0 && s.mappings == 0);
  }
  return puts("done") < 0;
}
E
SMALLOC_CONF=heap:guest,sysfs:$PWD/sys,debug:on expect_status 0 ./t
expect_match out '^done$'
expect_no_match err contradict
[ "$(thp_mode)" != always ] || SMALLOC_CONF=heap:guest,debug:on expect_status 0 ./t
