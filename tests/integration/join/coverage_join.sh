#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Counts of scripts/coverage. An access belongs to its own unit, is joined by name with another
# unit's site, or neither. A link with LTO sees all units at once.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >main.c <<'C'
#include <stdlib.h>
double walk(const double *a, long n);
double rest(double **table, long n);
double local(const double *few, long n);
int main(int argc, char **argv) {
  (void)argv;
  long n = argc * 1000L;
  double *a = malloc(n * sizeof *a), **rows = malloc(n * sizeof *rows);
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++) { // two accesses of main's own sites
    a[i] = i;
    rows[i] = a;
  }
  double few[4] = {1, 2, argc, 4};
  double s = walk(a, n) + rest(rows, n) + local(few, n & 3);
  return s > 1e9;
}
C
cat >walk.c <<'C'
double walk(const double *a, long n) {
  double s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++) // argument 1 of walk: joined
    s += a[i];
  return s;
}
double local(const double *few, long n) {
  double s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++) // argument 1 of local: the stack
    s += few[i];
  return s;
}
double never(const double *a, long n) {
  double s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++) // argument 1 of never: no site flows there
    s += a[i];
  return s;
}
C
cat >rest.c <<'C'
double rest(double **table, long n) {
  double s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++)
    s += table[i][i]; // argument 1 of rest, and what its memory points to: joined
  return s;
}
C
for unit in main walk rest; do
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-coverage=own -c $unit.c -o $unit.o
  quietly "$CLANG" -O2 -flto -fplugin="$PLUGIN" -c $unit.c -o lto-$unit.o
done
quietly "$CLANG" -O2 -flto -fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN" \
  -Wl,-mllvm,-smalloc-coverage=linked lto-main.o lto-walk.o lto-rest.o -o program
[ "$(ls own | wc -l)" = 3 ] || fail "not one file a unit: $(ls own)"
[ "$(ls linked | wc -l)" = 1 ] || fail "not one file a link: $(ls linked)"
PYTHONDONTWRITEBYTECODE=1 python3 - "$SMALLOC_SOURCE/scripts/coverage" <<'PY'
import importlib.machinery, importlib.util, pathlib, sys
loader = importlib.machinery.SourceFileLoader("coverage_study", sys.argv[1])
study = importlib.util.module_from_spec(importlib.util.spec_from_loader("coverage_study", loader))
loader.exec_module(study)
modules, link = study.read(pathlib.Path("own")), study.read(pathlib.Path("linked"))
assert sum(m["accesses"] for m in modules) == 7 and sum(m["attributed"] for m in modules) == 2, modules
assert sum(m["unnamed"] for m in modules) == 0, modules
seen = study.reached(modules)
joined = sum(n["accesses"] for m in modules for n in m["named"] if any((k, c) in seen for k, c, _ in n["places"]))
assert joined == 3, (joined, modules)
elsewhere = study.reached(modules, "elsewhere")
local = [n for m in modules for n in m["named"] if all((k, c) in elsewhere and (k, c) not in seen for k, c, _ in n["places"])]
assert [n["accesses"] for n in local] == [1], (local, modules)
# The stack is no heap. never() has no caller, so the linker has removed it.
assert (link[0]["accesses"], link[0]["attributed"]) in ((5, 5), (6, 5)), link
PY
