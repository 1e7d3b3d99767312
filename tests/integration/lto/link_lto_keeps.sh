#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A link with LTO sees unrolled loops, in which each copy touches a part of the pages. A decision of
# a unit by itself stays.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
need_linker lld
cat >columns.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  char *p = malloc(3000L * 4096);
  long sum = 0;
  if (!p)
    abort();
  for (int j = 0; j < 4096; j++)
    for (int i = 0; i < 3000; i++)
      p[i * 4096L + j] = (char)(i ^ j ^ argc);
  for (int j = 0; j < 4096; j++)
    for (int i = 0; i < 3000; i++)
      sum += p[i * 4096L + j] * (j & 7);
  printf("%ld %s\n", sum, argv[0] ? "done" : "");
  free(p);
  return 0;
}
C
for kind in no-lto lto=full lto=thin; do
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=zen4 -f$kind -c columns.c -o columns.o
  quietly "$CLANG" -O2 -f$kind -fuse-ld=lld -Wl,-mllvm,-load="$PLUGIN" -Wl,--load-pass-plugin="$PLUGIN" columns.o -o columns
  expect_status 0 "$SMALLOC" sites --json columns
  cp out sites-$kind.json
done
python3 - <<'PY' || fail "the link changed what the unit had decided"
import json
rows = [json.load(open(f"sites-{kind}.json"))["sites"] for kind in ("no-lto", "lto=full", "lto=thin")]
assert all(len(row) == 1 for row in rows), rows
said = [[(row[0][key]) for key in ("spread_pages", "decision", "why")] for row in rows]
assert said[0][0] == 3000 and said[0] == said[1] == said[2], said
PY
