#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A link with LTO decides sites again, with the accesses of other units. Alone, the unit leaves a
# site undecided. Without LTO the summaries of units decide it. With either kind of LTO the compiler
# decides it. The site and the program stay the same.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
mkdir src
cat >src/main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
double walk(const double *cells, const int *pick, long n);
int main(void) {
  const long n = 4L << 20;
  double *cells = malloc((size_t)n * sizeof *cells);
  int *pick = malloc((size_t)n * sizeof *pick);
  unsigned state = 1;
  if (!cells || !pick)
    abort();
  for (long i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    pick[i] = (int)(state % (unsigned)n);
    cells[i] = (double)(i % 7);
  }
  printf("sum %.0f\n", walk(cells, pick, n));
  free(pick);
  free(cells);
  return 0;
}
C
cat >src/walk.c <<'C'
double walk(const double *cells, const int *pick, long n) {
  double s = 0;
  for (long k = 0; k < n / 1000000; k++)
    for (long i = 0; i < n; i++)
      s += cells[pick[i]];
  return s;
}
C
compile=(-O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-first-touch=off -fplugin-arg-smalloc-root="$tmp")
load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
"$CLANG" -O2 src/main.c src/walk.c -o reference
expected=$(./reference)
build() { # NAME FLAG...
  local name=$1 unit
  shift
  for unit in main walk; do
    quietly "$CLANG" "${compile[@]}" "$@" -c src/$unit.c -o "$name-$unit.o"
  done
  quietly "$CLANG" -O2 "$@" "${load[@]}" "$name-main.o" "$name-walk.o" -o "$name"
  expect_status 0 "./$name"
  expect_match out "^$expected\$"
  expect_status 0 env LD_PRELOAD="$LIB" "./$name"
  expect_match out "^$expected\$"
}
build plain -fno-lto
build full -flto=full
build thin -flto=thin
for name in plain full thin; do
  expect_status 0 "$SMALLOC" sites --json $name
  mv out $name.json
done
expect_status 0 "$SMALLOC" sites --json plain-main.o
python3 - <<'PY'
import json
alone = json.load(open("out"))["sites"]
assert len(alone) == 2 and all("leaves the unit" in s["why"] and s["confidence"] <= 0.3 for s in alone), alone
def table(name):
    sites = json.load(open(name + ".json"))["sites"]
    found = [s for s in sites if s["line"] == 6 and s["file"].endswith("main.c")]
    assert len(found) == 1 and len(sites) == 2, (name, sites)
    return found[0]
plain = table("plain")
assert plain["joined"] and "through argument 1 of walk" in plain["why"], plain
for name in ("full", "thin"):
    site = table(name)
    assert site["id"] == plain["id"], (site, plain)
    assert not site["joined"] and site["decided_by"] == "compiler", site
    assert site["decision"] == "superpage" and site["pattern"] == "scattered" and site["confidence"] > 0.3, site
    assert site["rewritten"] and site["line"] == plain["line"] and site["function"] == "main", site
    assert "leaves the unit" not in site["why"] and "through argument" not in site["why"], site
PY

# A link without the plugin keeps the sites as the units were compiled.
for kind in full thin; do
  quietly "$CLANG" -O2 -flto=$kind -fuse-ld=lld $kind-main.o $kind-walk.o -o unrefined
  expect_status 0 env LD_PRELOAD="$LIB" ./unrefined
  expect_match out "^$expected\$"
  [ "$(count_sites unrefined)" = 2 ] || fail "not two sites without the plugin in the linker ($kind)"
done

# Units compiled with different options stay as compiled: no unit's options influence another unit's
# decision.
quietly "$CLANG" "${compile[@]}" -fplugin-arg-smalloc-heap=migrate -flto=full -c src/walk.c -o other.o
quietly "$CLANG" -O2 -flto=full "${load[@]}" full-main.o other.o -o differing
expect_status 0 "$SMALLOC" sites --json differing
expect_match out 'leaves the unit|through argument 1 of walk'

# With objects that are no bitcode, with the linker's optimisation levels, with collected sections.
for kind in full thin; do
  for extra in -Wl,--lto-O0 -Wl,--lto-O1 -Wl,--gc-sections; do
    quietly "$CLANG" -O2 -flto=$kind "${load[@]}" $extra $kind-main.o $kind-walk.o -o mixed
    expect_status 0 env LD_PRELOAD="$LIB" ./mixed
    expect_match out "^$expected\$"
  done
  for half in "$kind-main.o plain-walk.o" "plain-main.o $kind-walk.o"; do
    # shellcheck disable=SC2086 # two files
    quietly "$CLANG" -O2 -flto=$kind "${load[@]}" $half -o mixed
    expect_status 0 env LD_PRELOAD="$LIB" ./mixed
    expect_match out "^$expected\$"
  done
done
