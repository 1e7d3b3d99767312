#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two versions of a library in one process use one name for two things: each is decided by its own
# units. A template that two units instantiate is one site, decided by both units, whichever copy
# the linker keeps.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >table.h <<'C'
struct table { long count; double *cells; };
struct table *table_new(long n);
double table_sum(const struct table *t, const int *pick, long n);
C
cat >new.c <<'C'
#include <stdlib.h>
#include "table.h"
struct table *table_new(long n) {
  struct table *t = malloc(sizeof *t);
  t->count = n;
  t->cells = malloc((size_t)n * sizeof(double));
  for (long i = 0; i < n; i++)
    t->cells[i] = 1;
  return t;
}
C
cat >sum.c <<'C'
#include <stdio.h>
#include <string.h>
#include "table.h"
double table_sum(const struct table *t, const int *pick, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += t->cells[AT];
  return s;
}
static long huge_kib(const void *at) { // of the mapping that holds it
  FILE *maps = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from, to, address = (unsigned long)at;
  long kib = -1;
  int inside = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from <= address && address < to;
    else if (inside && sscanf(line, "AnonHugePages: %ld", &kib) == 1)
      break;
  }
  if (maps)
    fclose(maps);
  return kib;
}
void run(const int *pick, long n) {
  struct table *t = table_new(n);
  double s = 0;
  for (int k = 0; k < 4; k++)
    s += table_sum(t, pick, n);
  printf("%s sum %.0f huge_kib %ld\n", NAME, s, huge_kib(t->cells + n / 2));
}
C
cat >main.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  const long n = 6000000;
  int *pick = malloc(n * sizeof *pick);
  for (long i = 0; i < n; i++)
    pick[i] = (int)(i * 7919 % n);
  for (int k = 1; k < argc; k++) {
    void *library = dlopen(argv[k], RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return puts(dlerror()), 1;
    ((void (*)(const int *, long))dlsym(library, "run"))(pick, n);
  }
  return 0;
}
C
"$CLANG" -O2 main.c -o main
for version in "old -DAT=i" "new -DAT=pick[i]"; do
  name=${version%% *}
  for unit in new sum; do
    quietly "$CLANG" -O2 -fPIC -fvisibility=default -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off "${version#* }" \
      -DNAME="\"$name\"" -c $unit.c -o "$name-$unit.o"
  done
  quietly "$CLANG" -shared "$name-new.o" "$name-sum.o" -o "lib$name.so"
done
# decision LIBRARY: prints the decision of the cells, and whether it came from a site of another
# unit
decision() {
  expect_status 0 "$SMALLOC" sites --json "$1"
  python3 -c 'import json; print(*sorted((s["decision"], s["joined"]) for s in json.load(open("out"))["sites"] if "cells" in s["why"] or s["joined"] or s["decision"] != "base"))'
}
old=$(decision libold.so)
[ -n "$old" ] && [[ $old != *True* ]] || fail "the old version's cells: $old"
decision libnew.so | grep -q "('runtime', True)" || fail "the new version's cells: $(decision libnew.so)"
for order in "libold.so libnew.so" "libnew.so libold.so"; do
  # shellcheck disable=SC2086
  expect_status 0 env LD_PRELOAD="$LIB" ./main $(printf './%s ' $order)
  for name in old new; do
    expect_match out "^$name sum 24000000 "
  done
  case $(thp_mode) in madvise | always) ;; *) continue ;; esac
  kib() { sed -n "s/^$1 .*huge_kib //p" out; }
  [ "$(kib new)" -ge 24576 ] || fail "$(kib new) KiB of the new version's cells on superpages ($order)"
  [ "$(thp_mode)" = always ] || [ "$(kib old)" -le 0 ] || fail "$(kib old) KiB of the old version's cells on superpages ($order)"
done

cat >cells.h <<'C'
#include <cstdlib>
template <class T> struct cells {
  T *at = nullptr;
  long size = 0;
  __attribute__((noinline)) void grow(long n) {
    at = static_cast<T *>(malloc(n * sizeof(T)));
    size = n;
    for (long i = 0; i < n; i++)
      at[i] = T();
  }
};
double stream(), gather(const int *pick);
C
cat >stream.cc <<'C'
#include "cells.h"
double stream() {
  cells<double> c;
  c.grow(1000);
  double s = 0;
  for (long i = 0; i < c.size; i++)
    s += c.at[i];
  return s;
}
C
cat >gather.cc <<'C'
#include "cells.h"
double gather(const int *pick) {
  cells<double> c;
  c.grow(1000);
  double s = 0;
  for (int k = 0; k < 3; k++)
    for (long i = 0; i < c.size; i++)
      s += c.at[pick[i]];
  return s;
}
int main() {
  int *pick = static_cast<int *>(calloc(1000, sizeof(int)));
  return stream() + gather(pick) > 1e9;
}
C
for unit in stream gather; do
  quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off -c $unit.cc
done
for order in "stream.o gather.o" "gather.o stream.o"; do
  # shellcheck disable=SC2086
  quietly "$CLANGXX" $order -o both
  expect_status 0 ./both
  expect_status 0 "$SMALLOC" sites --json both
  python3 - "$order" <<'PY'
import json, sys
rows = [s for s in json.load(open("out"))["sites"] if "grow" in s["function"]]
assert len(rows) == 1, (sys.argv, rows)
assert rows[0]["decision"] == "runtime" and rows[0]["pattern"] == "scattered", (sys.argv, rows)
PY
done
