#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Filled objects are on superpages, whatever unit walks them later. The compiler proves the fill if
# it sees it; otherwise the helper thread notices it. A sparse object of the same wrapper and size
# stays on base pages. Without LTO.
. "$(dirname "$0")/../support/lib.sh"
need_thp
command -v "$CLANG" >/dev/null || skip "no $CLANG"
cat >grid.h <<'C'
#include <stddef.h>
struct grid { size_t n; double *cell, *log; };
void *checked(size_t n);
double columns(const struct grid *g);
unsigned long gather(const unsigned long *at, size_t n, long times);
C
cat >main.c <<'C'
#include "grid.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long huge_kib(const void *at, size_t bytes) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from, to, kib;
  long sum = 0;
  int inside = 0;
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from < (unsigned long)at + bytes && to > (unsigned long)at;
    else if (inside && sscanf(line, "AnonHugePages: %lu", &kib) == 1)
      sum += kib;
  if (maps)
    fclose(maps);
  return sum;
}
int main(void) {
  struct grid g = {3000, NULL, NULL}; /* 69 MiB each */
  const size_t cells = g.n * g.n, bytes = cells * sizeof(double);
  g.cell = checked(bytes), g.log = checked(bytes);
  for (size_t i = 0; i < cells; i++)
    g.cell[i] = 1;
  for (size_t i = 0; i < cells; i += 512 * 30) /* one page in thirty */
    g.log[i] = 1;
  printf("columns %.0f cell %ld log %ld\n", columns(&g), huge_kib(g.cell, bytes), huge_kib(g.log, bytes));
  const size_t n = 1 << 23; /* 64 MiB, streamed here, gathered in another unit */
  unsigned long *table = malloc(n * sizeof *table);
  for (size_t i = 0; i < n; i++)
    table[i] = i;
  printf("gather %lu table %ld\n", gather(table, n, 1000000), huge_kib(table, n * sizeof *table));
  double s = 0;
  long least = 1 << 30;
  for (int round = 0; round < 3; round++) { /* temporaries: written, summed, freed */
    double *a = malloc(n * sizeof *a);
    for (size_t i = 0; i < n; i++)
      a[i] = (double)i;
    for (size_t i = 0; i < n; i++)
      s += a[i];
    const long kib = huge_kib(a, n * sizeof *a);
    least = kib < least ? kib : least;
    free(a);
  }
  printf("temporaries %.0f least %ld\n", s, least);
  return 0;
}
C
cat >columns.c <<'C'
#include "grid.h"
double columns(const struct grid *g) {
  double s = 0;
  for (size_t j = 0; j < g->n; j++)
    for (size_t i = 0; i < g->n; i++)
      s += g->cell[i * g->n + j];
  return s;
}
unsigned long gather(const unsigned long *at, size_t n, long times) {
  unsigned long s = 7, r = 0;
  for (long i = 0; i < times; i++) {
    s = s * 6364136223846793005ul + 1442695040888963407ul;
    r += at[(s >> 30) & (n - 1)];
  }
  return r;
}
C
cat >checked.c <<'C'
#include "grid.h"
#include <stdlib.h>
void *checked(size_t n) {
  void *p = malloc(n);
  if (!p)
    abort();
  return p;
}
C
for unit in main columns checked; do
  "$CLANG" -O2 -c $unit.c -o $unit.plain.o
  "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -c $unit.c
done
"$CLANG" main.plain.o columns.plain.o checked.plain.o -o plain
"$CLANG" main.o columns.o checked.o -o program
./plain | sed 's/ \(cell\|table\|least\).*//' >want
expect_status 0 env LD_PRELOAD="$LIB" ./program
sed 's/ \(cell\|table\|least\).*//' out >got
cmp want got || fail "another result"
kib() { sed -nE "s/.* $1 ([0-9]+).*/\1/p" out; }
cat out
for object in cell table least; do # 95 % of the bytes
  [ "$(kib $object)" -ge 62000 ] || fail "$object: $(kib $object) KiB on superpages"
done
[ "$(kib log)" -le 16384 ] || fail "the sparse log: $(kib log) KiB on superpages"

# A program without the plugin: nothing is proved, so only the helper thread can give superpages,
# ahead of the fill. Checked when half is written, because a full object may be promoted for other
# reasons.
cat >half.c <<'C'
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  const size_t bytes = 256ul << 20, unit = 2ul << 20;
  char *p = malloc(bytes);
  for (size_t at = 0; at < bytes / 2; at += unit) {
    memset(p + at, 1, unit);
    usleep(5000); /* the helper thread checks every few milliseconds */
  }
  char line[512];
  unsigned long kib, sum = 0;
  FILE *maps = fopen("/proc/self/smaps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "AnonHugePages: %lu", &kib) == 1)
      sum += kib;
  printf("plain half %lu\n", sum);
  return p[0] - 1;
}
C
"$CLANG" -O2 half.c -o half
expect_status 0 env LD_PRELOAD="$LIB" ./half
cat out
[ "$(kib half)" -ge 16384 ] || fail "half written: $(kib half) KiB on superpages"
expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=promote:off ./half
[ "$(kib half)" -le 2048 ] || fail "half written, promote:off: $(kib half) KiB on superpages"
