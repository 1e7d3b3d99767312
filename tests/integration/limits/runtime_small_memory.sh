#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Many small objects in libsmalloc's heap take about as much memory as in glibc's: at most 512 KiB
# for the heap itself and 4 % for size classes, and at most 768 KiB of the library's file pages.
# Superpages never add more than max(2 %, 512 KiB).
# A site with requests of less than 4 MiB starts no heap.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
TEST_SITE(small, SMALLOC_DECISION_RUNTIME, SMALLOC_SITE_SMALL, 2048);
int main(int argc, char **argv) {
  int n = atoi(argv[1]), bytes = atoi(argv[2]);
  void **p = (void **)malloc(sizeof *p * n);
  for (int i = 0; i < n; i++) memset(p[i] = site_malloc(&small, bytes + i % 5 * 8), 1, bytes);
  (void)argc;
  printf("%zu %zu\n", status_kb("RssAnon:"), status_kb("VmRSS:"));
  return 0;
}
E
# shellcheck disable=SC2086 # a shape is two words
for shape in "10000 100" "30000 100" "80000 48" "400000 24" "60000 100" "200000 200" "3000000 40" "4000 3000"; do
  read -r plain plain_all < <(./t $shape)
  read -r with with_all < <(ours ./t $shape)
  read -r base _ < <(SMALLOC_CONF=pages:base ours ./t $shape)
  echo "$shape: glibc $plain KiB ($plain_all), ours $with KiB ($with_all), ours on base pages $base KiB"
  [ "$with" -le $((plain + plain / 25 + 512 + 2048)) ] || fail "$shape: $((with - plain)) KiB more than glibc's $plain"
  [ "$with_all" -le $((plain_all + plain / 25 + 512 + 768 + 2048)) ] ||
    fail "$shape: $((with_all - plain_all)) KiB more than glibc's $plain_all, file pages included"
  # The last superpage is partly filled.
  [ "$with" -le $((base + 2048)) ] || fail "$shape: superpages add $((with - base)) KiB to $base"
done
SMALLOC_CONF=stats:exit expect_status 0 ours ./t 10000 100
expect_match err 'heaps: +never needed'
