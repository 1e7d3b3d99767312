#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Many small objects through our heap take about as much memory as in glibc: at most 512 KiB for the heap itself
# and 4 % for size classes; superpages never add more than the rule's 2 % or 512 KiB.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(int argc, char **argv) {
  int n = atoi(argv[1]), bytes = atoi(argv[2]);
  void **p = (void **)malloc(sizeof *p * n);
  for (int i = 0; i < n; i++) memset(p[i] = site_malloc(&small, bytes + i % 5 * 8), 1, bytes);
  (void)argc;
  printf("%zu\n", status_kb("RssAnon:")); /* the library's code is shared file pages */
  return 0;
}
E
for shape in "30000 100" "400000 24" "200000 200" "3000000 40" "4000 3000"; do
  plain=$(./t $shape)
  with=$(ours ./t $shape)
  allowed=$((plain / 25 + 512))
  echo "$shape: glibc $plain KiB, ours $with KiB"
  [ "$with" -le $((plain + allowed)) ] || fail "$shape: $((with - plain)) KiB more than glibc's $plain"
  base=$(SMALLOC_CONF=pages:base ours ./t $shape)
  allowed=$((base / 50 > 512 ? base / 50 : 512))
  [ "$with" -le $((base + allowed)) ] || fail "$shape: superpages add $((with - base)) KiB to $base"
done
