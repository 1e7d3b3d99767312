#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc analyze --categories dynamic judges sites as one if they are accessed together and about
# equally often. Each site gets a directive.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >phases.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define BYTES ((size_t)8 << 20)
#define SITE(name) __attribute__((noinline)) static char *name(void) { return malloc(BYTES); }
SITE(first_a) SITE(first_b) SITE(first_c)
SITE(second_a) SITE(second_b)
SITE(seldom)
static unsigned long x = 1;
static size_t any(void) {
  x = x * 6364136223846793005u + 1442695040888963407u;
  return (x >> 30) % BYTES;
}
int main(void) {
  char *a = first_a(), *b = first_b(), *c = first_c(), *d = second_a(), *e = second_b(), *f = seldom();
  unsigned long sum = 0;
  if (!a || !b || !c || !d || !e || !f)
    return 1;
  for (int i = 0; i < 100000; i++) { /* three tables together, and sometimes a fourth */
    sum += a[any()]++ + b[any()]++ + c[any()]++;
    if (i % 200 == 0)
      sum += f[any()]++;
  }
  for (int i = 0; i < 100000; i++)
    sum += d[any()]++ + e[any()]++;
  printf("%lu\n", sum);
  return 0;
}
C
quietly "$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate phases.c -o phases "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./phases
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --seconds 0.1 --no-db --categories dynamic --json -o t.directives
mv out d.json
python3 - <<'PY' || fail "the sites are not joined as they are accessed"
import json
d = json.load(open("d.json"))
groups = {frozenset(s["function"] for s in m["category"]["sites"]): m for m in d["mappings"] if m["category"]["kind"] == "dynamic"}
assert set(groups) == {frozenset({"first_a", "first_b", "first_c"}), frozenset({"second_a", "second_b"})}, d["mappings"]
alone = [m["category"]["function"] for m in d["mappings"] if m["category"]["kind"] == "site" and m["steerable"]]
assert alone == ["seldom"], alone
first = groups[frozenset({"first_a", "first_b", "first_c"})]
assert first["superpages"] == 12 and first["footprint_bytes"] == 3 * (8 << 20) and first["chosen"] and first["pmb_percent"] == 100, first
assert abs(first["accesses"] - sum(s["accesses"] for s in first["category"]["sites"])) < 1, first
lines = {line.split("# ")[1].split()[0]: line.split() for line in open("t.directives").read().splitlines()[1:]}
assert set(lines) == {"first_a", "first_b", "first_c", "second_a", "second_b", "seldom"}, lines
for name in "first_a", "first_b", "first_c", "second_a", "second_b":
    assert "page=2m" in lines[name] and "superpages=4" in lines[name], lines[name]
PY
# Each run writes the same bytes. The table has names of groups; other categories have none.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --seconds 0.1 --no-db -q --categories dynamic --json -o u.directives
cmp <(sed 's/u\.directives/t.directives/' out) d.json || fail "another run, another result"
cmp t.directives u.directives || fail "another run, other directives"
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --seconds 0.1 --no-db --categories dynamic
expect_match out '^1 +3 sites +first_[abc], first_[abc], first_[abc] '
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --seconds 0.1 --no-db --json
json_is out 'all(m["category"]["kind"] in ("site", "static") and "sites" not in m["category"] for m in d["mappings"])'
# Without recorded accesses no two sites are alike.
printf '#include <stdlib.h>\nint main(void) { for (int i = 0; i < 9; i++) free(malloc(1 << 20)); return 0; }\n' >plain.c
"$CLANG" -O0 plain.c -o plain
expect_status 0 "$SMALLOC" record -q --source instrumented -o plain.trace -- ./plain
expect_status 0 "$SMALLOC" analyze plain.trace --machine zen3 --no-db -q --categories dynamic --json
json_is out 'all(m["category"]["kind"] != "dynamic" for m in d["mappings"])'
