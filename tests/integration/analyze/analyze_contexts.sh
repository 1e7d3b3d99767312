#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc analyze --categories context judges two inlined copies of one allocation separately, and
# the directives name the copies.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >copies.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define COUNT ((size_t)4 << 20)
static inline __attribute__((always_inline)) uint64_t *array(size_t n) {
  uint64_t *p = malloc(n * sizeof *p);
  if (!p)
    abort();
  for (size_t i = 0; i < n; i++)
    p[i] = i;
  return p;
}
__attribute__((noinline)) static uint64_t *cold(size_t n) { return array(n); }
__attribute__((noinline)) static uint64_t *hot(size_t n) { return array(n); }
int main(void) {
  uint64_t *a = cold(COUNT / 64), *b = hot(COUNT), x = 1, sum = a[COUNT / 128];
  for (int i = 0; i < 2000000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += b[(x >> 33) % COUNT]++;
  }
  printf("%lu\n", (unsigned long)sum);
  free(a);
  free(b);
  return 0;
}
C
quietly "$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate copies.c -o copies "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./copies
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --json -o site.directives
mv out site.json
expect_match err '^smalloc: note: array .*copies.c:[0-9]+ is inlined into 2 places, ranked as one: --categories context ranks each$'
json_is site.json 'len([m for m in d["mappings"] if m["category"]["function"] == "array"]) == 1'
json_is site.json 'all(m["category"]["context"] is None for m in d["mappings"])'
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --categories context --json -o context.directives
mv out context.json
expect_no_match err 'inlined into'
# A program that records itself would record again, on base pages. The suggested next step says so,
# and works.
expect_match err 'next: SMALLOC_CONF=directives:context.directives,trace:off .*copies$'
SMALLOC_CONF=directives:context.directives,trace:off,stats:exit ./copies >/dev/null 2>stats
expect_match stats 'superpages at first touch: +16'
python3 - <<'PY' || fail "the copies are not told apart"
import json
found = [m for m in json.load(open("context.json"))["mappings"] if m["category"]["function"] == "array"]
assert len(found) == 2 and len({m["category"]["context"] for m in found}) == 2, found
assert len({m["category"]["id"] for m in found}) == 1 and {m["category"]["kind"] for m in found} == {"site_context"}
hot, cold = found
assert hot["category"]["inlined_into"][0].startswith("hot ") and cold["category"]["inlined_into"][0].startswith("cold "), found
assert hot["chosen"] and hot["superpages"] == 16 and hot["pmb_percent"] == 100 and cold["superpages"] == 1, found
lines = [line for line in open("context.directives") if line.startswith(hot["category"]["id"] + "/")]
assert len(lines) == 2, lines
assert sum("page=2m" in line and " in hot " in line for line in lines) == 1, lines
site = next(m for m in json.load(open("site.json"))["mappings"] if m["category"]["function"] == "array")
assert abs(site["accesses"] - sum(m["accesses"] for m in found)) < 1
PY
expect_status 0 "$SMALLOC" analyze t.trace --machine zen3 --no-db --categories context
expect_match out 'array +.*copies.c:[0-9]+ in hot '
