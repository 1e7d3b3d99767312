#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A heap that has shrunk to a twentieth, at random, and then replaces its objects one by one packs
# them. Freed memory is given back, although each new object could reuse the slot of the object
# freed last. A heap with full slabs is not packed.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
need_thp
build t <<'E'
#include "runtime_sites.h"
#include <time.h>
enum { kBytes = 3072, kCount = 100000 };
TEST_SITE(small, SMALLOC_DECISION_SUPERPAGE, SMALLOC_SITE_SMALL, 0);
static char *object[kCount];
static int at_site;
static char *made(int i) {
  char *p = at_site ? site_malloc(&small, kBytes) : malloc(kBytes);
  memset(p, i % 100 + 1, kBytes);
  return p;
}
int main(int argc, char **argv) { /* share that stays, and the seconds */
  int one_of = atoi(argv[1]), seconds = atoi(argv[2]), live = 0;
  unsigned x = 7;
  struct timespec began, now, nap = {0, 20000000};
  at_site = argc > 3;
  for (int i = 0; i < kCount; i++) object[i] = made(i);
  for (int i = 0; i < kCount; i++) {
    x = x * 1664525u + 1013904223u;
    if ((x >> 12) % one_of) { free(object[i]); object[i] = NULL; }
    else live++;
  }
  clock_gettime(CLOCK_MONOTONIC, &began);
  do { /* replaces each object about ten times a second */
    for (int i = 0; i < kCount; i++)
      if (object[i]) {
        char all = object[i][0];
        if (all != i % 100 + 1 || object[i][kBytes - 1] != all) return 1;
        free(object[i]);
        object[i] = made(i);
      }
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec - began.tv_sec < seconds);
  printf("%d %zu\n", live * 3, status_kb("RssAnon:"));
  return 0;
}
E
whole() { LD_PRELOAD=$PRELOAD SMALLOC_CONF=heap:superpage${CONF:-} "$@"; }
packed() { CONF=,stats:exit "$@" 2>&1 >/dev/null | sed -n 's/.*objects packed: *\([0-9]*\).*/\1/p'; }
for how in "whole ./t 20 6" "ours ./t 20 6 site"; do
  # shellcheck disable=SC2086 # a command
  read -r live resident < <($how)
  echo "$how: $live KiB live, $resident KiB resident"
  [ "$resident" -le $((2 * live + 8192)) ] || fail "$how: $resident KiB resident for $live KiB"
done
[ "$(packed whole ./t 20 4)" -gt 1000 ] || fail "few objects were packed"
[ "$(packed whole ./t 1 3)" = 0 ] || fail "objects of a full heap were packed"
