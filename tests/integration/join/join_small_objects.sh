#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One unit allocates small objects on demand, and another accesses them at random. After the join
# the live bytes of their heap set the decision, in `smalloc sites` and in the process. An object
# that main allocates once is decided by its own size.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >cells.h <<'C'
struct cell {
  double *values;
};
void cell_fill(struct cell *c, long n);
double cells_sum(const struct cell *cells, const int *pick, long picks);
double table_sum(const double *table, const int *pick, long picks);
C
cat >fill.c <<'C'
#include "cells.h"
#include <stdlib.h>
void cell_fill(struct cell *c, long n) {
  c->values = malloc((size_t)n * sizeof(double));
  c->values[0] = (double)n;
}
C
cat >sum.c <<'C'
#include "cells.h"
double cells_sum(const struct cell *cells, const int *pick, long picks) {
  double s = 0;
  for (int k = 0; k < 3; k++)
    for (long i = 0; i < picks; i++)
      s += cells[pick[i]].values[0];
  return s;
}
double table_sum(const double *table, const int *pick, long picks) {
  double s = 0;
  for (int k = 0; k < 3; k++)
    for (long i = 0; i < picks; i++)
      s += table[pick[i]];
  return s;
}
C
cat >main.c <<'C'
#include "cells.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const long n = argc > 1 ? atol(argv[1]) : 200000;
  struct cell *cells = calloc((size_t)n, sizeof *cells);
  int *pick = malloc((size_t)n * sizeof *pick);
  double *table = malloc((size_t)n * sizeof *table);
  unsigned state = 1;
  for (long i = 0; i < n; i++) {
    cell_fill(&cells[i], 64);
    state = state * 1664525u + 1013904223u;
    pick[i] = (int)(state % (unsigned)n);
    table[i] = 1;
  }
  printf("sum %.0f\n", cells_sum(cells, pick, n) + table_sum(table, pick, n));
  return 0;
}
C
for unit in fill sum main; do
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off -c $unit.c
done
quietly "$CLANG" fill.o sum.o main.o -o program
expect_status 0 "$SMALLOC" sites --json program
python3 - <<'PY'
import json
sites = json.load(open("out"))["sites"]
row = lambda function, text: [s for s in sites if s["function"] == function and text in s["why"]]
cells, table = row("cell_fill", "byte 0 of struct cell"), row("main", "argument 1 of table_sum")
assert len(cells) == 1 and len(table) == 1, [(s["function"], s["callee"], s["why"]) for s in sites]
for site, small in ((cells[0], True), (table[0], False)):
    assert site["joined"] and site["decision"] == "runtime" and not site["undecided"], site
    assert site["small_objects"] is small, site
PY
expect_status 0 ./program
mv out expected
expect_status 0 env LD_PRELOAD="$LIB" ./program
cmp -s out expected || fail "another sum with libsmalloc"
