#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Under ulimit -v and ulimit -d the heaps shrink or stay away; the program gets its memory and nothing crashes.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(site, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_FULLY_INITIALISED, 512);
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(void) {
  static void *keep[2000];
  int n = 0, mine = 0;
  warm_up(&small);
  for (; n < 2000; n++) { /* until there is no more */
    keep[n] = site_malloc(&site, 8 * MIB);
    if (!keep[n]) break;
    mine += ours(keep[n]);
    memset(keep[n], 1, 4096);
  }
  CHECK(n == 2000 || errno == ENOMEM);
  for (int i = 0; i < n; i++) free(keep[i]);
  free(site_malloc(&small, 1000));
  printf("%d objects, ours %d\n", n, mine);
  return 0;
}
E
for limit in "-v 4000000" "-v 300000" "-d 2000000"; do
  (ulimit $limit; ./t) >plain || fail "the program fails without us, too"
  (ulimit $limit; LD_PRELOAD=$LIB ./t) >with 2>err || { cat with err; fail "ulimit $limit: status $?"; }
  a=$(cut -d' ' -f1 plain) b=$(cut -d' ' -f1 with)
  [ "$b" -ge $((a * 3 / 4)) ] || fail "ulimit $limit: $b objects instead of $a"
done
