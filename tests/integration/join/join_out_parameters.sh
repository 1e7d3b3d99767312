#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function of one unit stores memory through an argument, and another unit walks it at random:
# that walk sets the decision. Tested: a local variable, a field's address, a global, one function
# deeper, posix_memalign, and a function that is called through a pointer. Memory that other callers
# of the function store does not get the decision.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >made.c <<'C'
#include <stdlib.h>
#include "made.h"
int made_inner(double **out, long n) { return !(*out = malloc(n * sizeof(double))); }
int made_local(double **out, long n) { return !(*out = malloc(n * sizeof(double))); }
int made_field(double **out, long n) { return !(*out = malloc(n * sizeof(double))); }
int made_global(double **out, long n) { return !(*out = malloc(n * sizeof(double))); }
int made_deep(double **out, long n) { return made_inner_elsewhere(out, n); }
int made_aligned(double **out, long n) { return posix_memalign((void **)out, 64, n * sizeof(double)); }
double *made_through(long n) { return malloc(n * sizeof(double)); }
int made_logged(double **out, long n) { return !(*out = malloc(n * sizeof(double))); }
void seen(double **any) { any[0][0] = 1; }
C
cat >made.h <<'C'
struct model { long n; double *cost, *limit; };
struct maker { long calls; double *(*make)(long); };
extern double *shared;
int made_inner(double **, long), made_inner_elsewhere(double **, long), made_local(double **, long), made_field(double **, long);
int made_global(double **, long), made_deep(double **, long), made_aligned(double **, long), made_logged(double **, long);
double *made_through(long);
void seen(double **);
void use(struct model *, struct maker *, const int *, long);
double walk(const double *, const int *, long), log_sum(const double *, long);
C
cat >used.c <<'C'
#include <stdlib.h>
#include "made.h"
double *shared;
int made_inner_elsewhere(double **out, long n) { return made_inner(out, n); }
static double total;
void use(struct model *m, struct maker *by, const int *pick, long n) {
  double *local, *deep, *logged;
  if (made_local(&local, n) || made_deep(&deep, n) || made_logged(&logged, n))
    abort();
  m->n = n;
  if (made_field(&m->cost, n) || made_aligned(&m->limit, n) || made_global(&shared, n))
    abort();
  seen(&local), seen(&deep), seen(&logged);
  total += walk(local, pick, n) + walk(deep, pick, n) + walk(m->cost, pick, n) + walk(m->limit, pick, n);
  total += walk(shared, pick, n) + walk(by->make(n), pick, n) + log_sum(logged, n);
}
C
cat >walk.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "made.h"
double walk(const double *at, const int *pick, long n) {
  double s = 0;
  for (int k = 0; k < 3; k++)
    for (long i = 0; i < n; i++)
      s += at[pick[i]];
  return s;
}
double log_sum(const double *at, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += at[i];
  return s;
}
void begin(struct maker *by, double *(*make)(long)) { by->make = make; }
int main(void) {
  struct model m;
  struct maker by = {0, 0};
  int *pick = calloc(1000, sizeof(int));
  begin(&by, made_through);
  use(&m, &by, pick, 1000);
  return puts("done") < 0;
}
C
for unit in made used walk; do
  quietly "$CLANG" -O2 -fno-inline -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -c $unit.c
done
quietly "$CLANG" made.o used.o walk.o -o program
expect_status 0 ./program
expect_status 0 "$SMALLOC" sites --json program
python3 - <<'PY'
import json
sites = {s["function"]: s for s in json.load(open("out"))["sites"]}
for how in ("local", "field", "global", "inner", "aligned", "through"):
    s = sites["made_" + how]
    assert s["joined"] and s["pattern"] == "scattered" and "picked at random" in s["why"], (how, s)
s = sites["made_logged"]  # `seen` touches this one as well
assert "picked at random" not in s["why"], s
PY
