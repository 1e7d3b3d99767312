#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For large variables a link with LTO keeps the units' ids, names, files and decisions, also for two
# variables of one name. For a variable of several units it may learn more.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
for unit in one two; do
  cat >$unit.c <<C
static double table[1 << 22];
double shared_${unit}[1 << 22];
double walk_$unit(void) {
  double s = 0;
  for (int i = 0; i < 1 << 22; i++)
    table[i] = i % 7;
  for (int c = 0; c < 512; c++)
    for (int r = 0; r < 8192; r++)
      s += table[r * 512 + c];
  return s;
}
C
done
cat >main.c <<'C'
#include <stdio.h>
extern double shared_one[1 << 22], shared_two[1 << 22];
double walk_one(void), walk_two(void);
int main(int argc, char **argv) {
  (void)argv;
  unsigned state = 1;
  double s = walk_one() + walk_two();
  for (int i = 0; i < argc << 22; i++) {
    state = state * 1664525u + 1013904223u;
    s += shared_one[state >> 10] += i;
  }
  s += shared_two[argc] += s;
  printf("%.0f\n", s);
  return 0;
}
C
compile=(-O3 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -fplugin-arg-smalloc-root="$tmp")
load=(-fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN")
for kind in plain full thin; do
  lto=-flto=$kind
  [ $kind != plain ] || lto=-fno-lto
  for unit in main one two; do
    quietly "$CLANG" "${compile[@]}" $lto -c $unit.c -o $kind-$unit.o
  done
  quietly "$CLANG" -O3 $lto "${load[@]}" $kind-{main,one,two}.o -o $kind
  expect_status 0 ./$kind
  mv out $kind.out
  cmp plain.out $kind.out || fail "$kind prints something else"
  expect_status 0 "$SMALLOC" sites --json $kind
  mv out $kind.json
done
python3 - <<'PY'
import json
def sites(kind):
    return sorted(json.load(open(kind + ".json"))["sites"], key=lambda s: (s["function"], s["file"]))
plain = sites("plain")
assert [(s["function"], s["file"]) for s in plain if s["function"] == "table"] == [("table", "one.c"), ("table", "two.c")], plain
assert all(s["decision"] == "superpage" for s in plain if s["function"] == "table"), plain
for kind in ("full", "thin"):
    others = sites(kind)
    assert [(s["id"], s["function"], s["file"]) for s in others] == [(s["id"], s["function"], s["file"]) for s in plain], (kind, others, plain)
    for one, other in zip(plain, others):
        if one["function"] == "table":
            assert (one["decision"], one["pattern"], one["why"]) == (other["decision"], other["pattern"], other["why"]), (kind, one, other)
# No loop of its own unit walks shared_one; the link sees the loop of another unit.
full = {s["function"]: s for s in sites("full")}
assert full["shared_one"]["decision"] == "superpage" and full["shared_one"]["pattern"] == "scattered", full
PY
