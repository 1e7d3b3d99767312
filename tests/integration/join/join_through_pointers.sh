#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One unit passes memory to a function that it calls through a pointer, and that function, in
# another unit, walks it at random: the walk sets the decision. Tested: a field of a structure that
# a third unit fills, a table of functions of other units, a constant table of another unit. Memory
# for functions that walk it in order, or for the neighbouring pointer, does not get the decision.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >operations.h <<'C'
struct operations { long calls; double (*look)(const double *, const int *, long); double (*sum)(const double *, const int *, long); };
double look(const double *, const int *, long), sum(const double *, const int *, long);
double in_table(const double *, const int *, long), in_table_too(const double *, const int *, long);
extern const struct operations fixed;
void choose(struct operations *);
double by_field(const struct operations *, const int *, long), by_field_in_order(const struct operations *, const int *, long);
double by_table(int kind, const int *, long), by_constant(const int *, long);
C
cat >caller.c <<'C'
#include <stdlib.h>
#include "operations.h"
static double (*const table[])(const double *, const int *, long) = {in_table, in_table_too};
double by_field(const struct operations *o, const int *pick, long n) {
  double *field = malloc(n * sizeof(double));
  return field ? o->look(field, pick, n) : 0;
}
double by_field_in_order(const struct operations *o, const int *pick, long n) {
  double *ordered = malloc(n * sizeof(double));
  return ordered ? o->sum(ordered, pick, n) : 0;
}
double by_table(int kind, const int *pick, long n) {
  double *tabled = malloc(n * sizeof(double));
  return tabled ? table[kind](tabled, pick, n) : 0;
}
double by_constant(const int *pick, long n) {
  double *constant = malloc(n * sizeof(double));
  return constant ? fixed.look(constant, pick, n) : 0;
}
C
cat >walks.c <<'C'
#include "operations.h"
#define AT_RANDOM(NAME)                                            \
  double NAME(const double *at, const int *pick, long n) {         \
    double s = 0;                                                  \
    for (int k = 0; k < 3; k++)                                    \
      for (long i = 0; i < n; i++)                                 \
        s += at[pick[i]];                                          \
    return s;                                                      \
  }
AT_RANDOM(look)
AT_RANDOM(in_table)
double in_table_too(const double *at, const int *pick, long n) { return sum(at, pick, n); }
double sum(const double *at, const int *pick, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += at[i];
  return s;
}
C
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "operations.h"
const struct operations fixed = {0, look, sum};
void choose(struct operations *o) { o->look = look, o->sum = sum; }
int main(int argc, char **argv) {
  struct operations o = {0, 0, 0};
  int *pick = calloc(1000, sizeof(int));
  choose(&o);
  double s = by_field(&o, pick, 1000) + by_field_in_order(&o, pick, 1000) + by_table(argc > 1, pick, 1000) + by_constant(pick, 1000);
  return puts(s >= 0 || s < 0 || s != s ? "done" : "") < 0;
}
C
for unit in caller walks main; do
  quietly "$CLANG" -O2 -fno-inline -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -c $unit.c
done
quietly "$CLANG" caller.o walks.o main.o -o program
expect_status 0 ./program
expect_match out '^done$'
expect_status 0 "$SMALLOC" sites --json program
python3 - <<'PY'
import json
sites = {s["function"]: s for s in json.load(open("out"))["sites"]}
for how in ("by_field", "by_table", "by_constant"):
    s = sites[how]
    assert s["joined"] and s["pattern"] == "scattered" and "picked at random" in s["why"], (how, s)
s = sites["by_field_in_order"]  # the neighbouring field of the structure is a different key
assert "argument 1 of sum" in s["why"] and "picked at random" not in s["why"], s
PY
