#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# heap:migrate: objects of an undecided site live on base pages and become superpages in place when
# their heap exceeds the TLB's reach, while another thread writes them.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t -DTEST_HEAP=SMALLOC_HEAP_MIGRATE <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_BASE, SMALLOC_SITE_UNDECIDED | SMALLOC_SITE_SMALL, 6144);
enum { kObjects = 600000, kBytes = 48 };
static unsigned char *object[kObjects];
static volatile int made, stop;
static void *writer(void *unused) {
  for (unsigned round = 1; !stop; round++)
    for (int i = 0, n = made; i < n; i++) __atomic_store_n(&object[i][8], (unsigned char)round, __ATOMIC_RELAXED);
  return unused;
}
static size_t huge(void) { return smaps(object[0], 1, "AnonHugePages:"); }
int main(void) {
  pthread_t t;
  size_t before = 1;
  warm_up(&site);
  pthread_create(&t, NULL, writer, NULL);
  for (int i = 0; i < kObjects; i++) {
    object[i] = (unsigned char *)site_malloc(&site, kBytes);
    for (int k = 0; k < kBytes; k++) object[i][k] = (unsigned char)(i + k * 3);
    made = i + 1;
    if (i == 350000) before = huge();
  }
  CHECK(ours(object[0]));
  CHECK(before == 0);
  CHECK(huge() >= 16 * MIB);
  stop = 1;
  pthread_join(t, NULL);
  for (int i = 0; i < kObjects; i++)
    for (int k = 0; k < kBytes; k++) CHECK(k == 8 || object[i][k] == (unsigned char)(i + k * 3));
  for (int i = 0; i < kObjects; i++) free(object[i]);
  puts("done");
  return 0;
}
E
SMALLOC_CONF=stats:exit,debug:on expect_status 0 ours ./t
expect_match out '^done$'
expect_match err 'class heap: +frozen, superpages [1-9]'
# The same by request, with all addresses unchanged: smalloc_heap_migrate().
build api $(linked) <<'E'
#include "runtime_sites.h"
int main(void) {
  static char *p[100000];
  for (int i = 0; i < 100000; i++) memset(p[i] = (char *)smalloc(200, SMALLOC_BASE), i, 200);
  CHECK(smaps(p[5000], 1, "AnonHugePages:") == 0);
  CHECK(smalloc_heap_migrate() >= 8);
  CHECK(smaps(p[5000], 1, "AnonHugePages:") >= 8 * UNIT);
  for (int i = 0; i < 100000; i++) for (int k = 0; k < 200; k++) CHECK(p[i][k] == (char)i);
  char *later = (char *)smalloc(200, SMALLOC_BASE);
  for (int i = 0; i < 100000; i++) CHECK(p[i] != later);
  size_t rss = status_kb("VmRSS:");
  for (int i = 0; i < 100000; i++) free(p[i]);
  smalloc_trim();
  CHECK(status_kb("VmRSS:") + 12 * 1024 < rss);
  return puts("done") < 0;
}
E
expect_status 0 ./api
expect_match out '^done$'
