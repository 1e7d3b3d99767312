#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A table that is read at random and a list of as many pages miss equally often. If the machine
# profile has the cost of overlapped walks, the table's misses get that price. The list waits for
# its walks, so it ranks first.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >both.c <<'C'
#include <stdio.h>
#include <stdlib.h>
enum { kPages = 4096, kSteps = 400000 };
struct node {
  struct node *next;
  char rest[56];
};
__attribute__((noinline)) static unsigned long gather(void) {
  unsigned long *table = malloc(kPages * 4096ul), x = 1, sum = 0;
  for (unsigned long i = 0; i < kPages * 512ul; i++)
    table[i] = i;
  for (int i = 0; i < kSteps; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += table[(x >> 33) % (kPages * 512ul)];
  }
  free(table);
  return sum;
}
/* Nodes linked in random order: building is a gather, walking waits four times a node. */
__attribute__((noinline)) static unsigned long chase(unsigned n, const unsigned *order) {
  struct node *nodes = malloc(n * sizeof *nodes);
  for (unsigned i = 0; i < n; i++)
    nodes[order[i]].next = &nodes[order[(i + 1) % n]];
  struct node *at = nodes;
  for (unsigned i = 0; i < 4 * n; i++)
    at = at->next;
  unsigned long last = (unsigned long)(at - nodes);
  free(nodes);
  return last;
}
int main(int argc, char **argv) {
  unsigned n = (unsigned)argc << 16; /* not a constant, so the compiler cannot bound the walk */
  unsigned *order = malloc(n * sizeof *order);
  (void)argv;
  for (unsigned i = 0; i < n; i++)
    order[i] = i * 40503u % n;
  printf("%lu %lu\n", gather(), chase(n, order));
  free(order);
  return 0;
}
C
quietly "$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate both.c -o both "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./both
machine() { # [MORE]
  cat <<JSON
{"schema": "smalloc.machine/1", "name": "m", "frequency_hz": 1e9,
 "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 4},
         {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 32, "ways": 0}],
 "walk_cost": [{"page_bytes": 4096, "cycles": 100}], ${1-}
 "first_touch_ns": [{"page_bytes": 4096, "value": 10}, {"page_bytes": 2097152, "value": 10}]}
JSON
}
machine >latency.json
machine '"overlapped_walk_cost": [{"page_bytes": 4096, "cycles": 20}],' >both.json
for m in latency both; do
  expect_status 0 "$SMALLOC" analyze t.trace --machine ./$m.json --seconds 0.1 --no-db --json
  mv out $m.out
done
expect_status 0 "$SMALLOC" machine show ./both.json
expect_match out '^overlapped walk, 4 KiB +20 cycles'
python3 - <<'PY' || fail "walks that overlap are not priced by what they add"
import json
def by(name):
    first = {}  # the first mapping of each function in the ranking
    for m in json.load(open(name))["mappings"]:
        if m["category"]["function"] in ("gather", "chase"):
            first.setdefault(m["category"]["function"], m)
    return first
a, b = by("latency.out"), by("both.out")
assert not a["gather"]["walks_overlap"] and b["gather"]["walks_overlap"] and not b["chase"]["walks_overlap"], b
assert abs(a["chase"]["saved_cycles"] - b["chase"]["saved_cycles"]) < 0.01 * a["chase"]["saved_cycles"]
assert 0.15 < b["gather"]["saved_cycles"] / a["gather"]["saved_cycles"] < 0.25, (a["gather"], b["gather"])
assert b["chase"]["rank"] == 1, b["chase"]
PY
