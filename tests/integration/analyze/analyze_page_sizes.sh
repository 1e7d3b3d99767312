#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc analyze --pages: each site gets the page size whose TLB entries cover it, in the table,
# the JSON document and the directives. Page sizes without TLB entries on the machine are left out.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >sizes.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static char *small(void) { return malloc((size_t)4 << 20); }
__attribute__((noinline)) static char *large(void) { return malloc((size_t)48 << 20); }
__attribute__((noinline)) static char *huge(void) { return malloc((size_t)1 << 30); }
int main(void) {
  char *a = small(), *b = large(), *c = huge();
  unsigned long x = 1, sum = 0;
  if (!a || !b || !c)
    return 77;
  for (int i = 0; i < 200000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += a[(x >> 30) % (4 << 20)]++;
    sum += b[(x >> 20) % (48 << 20)]++;
    sum += c[(x >> 40) % 512 << 21]++; /* one page in each 2 MiB */
  }
  printf("%lu\n", sum);
  return 0;
}
C
quietly "$CLANG" -O2 -g1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate sizes.c -o sizes "${LINK_LIBRARY[@]}"
run_status() { "$@" >/dev/null 2>&1 && echo 0 || echo $?; }
[ "$(run_status ./sizes)" != 77 ] || skip "no address space for 1 GiB"
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./sizes
# 64 pages of 64 KiB hold the first, 24 of 2 MiB the second, and one of 1 GiB the third.
cat >m.json <<'JSON'
{"schema": "smalloc.machine/1", "name": "sizes", "frequency_hz": 1e9,
 "tlb": [{"level": 1, "kind": "data", "page_bytes": [4096], "entries": 64, "ways": 0},
         {"level": 1, "kind": "data", "page_bytes": [65536], "entries": 128, "ways": 0},
         {"level": 1, "kind": "data", "page_bytes": [2097152], "entries": 32, "ways": 0},
         {"level": 1, "kind": "data", "page_bytes": [1073741824], "entries": 4, "ways": 0}],
 "walk_cost": [{"page_bytes": 4096, "cycles": 100}],
 "first_touch_ns": [{"page_bytes": 4096, "value": 10}, {"page_bytes": 65536, "value": 10},
                    {"page_bytes": 2097152, "value": 10}, {"page_bytes": 1073741824, "value": 10}]}
JSON
expect_status 0 "$SMALLOC" analyze t.trace --machine ./m.json --seconds 0.1 --no-db --pages all --json -o t.directives
mv out all.json
python3 - <<'PY' || fail "each site does not get its page size"
import json
d = json.load(open("all.json"))
by_bytes = {m["footprint_bytes"]: m for m in d["mappings"]}
want = {4 << 20: (65536, 64), 48 << 20: (2 << 20, 24), 1 << 30: (1 << 30, 1)}
for footprint, (page, count) in want.items():
    m = by_bytes[footprint]
    assert m["page_bytes"] == page and m["superpages"] == count and m["chosen"], m
    sizes = {s["page_bytes"]: s for s in m["sizes"]}
    assert set(sizes) == {65536, 2 << 20} | ({1 << 30} if footprint == 1 << 30 else set()), m
    best = sizes[page]
    assert best["pmb_percent"] == m["pmb_percent"] and best["saved_cycles"] == m["saved_cycles"], m
    # 200,000 random accesses: nearly all miss on base pages, none on pages of the right size.
    assert m["tlb_misses_base"] - best["tlb_misses"] > 180000, m
assert by_bytes[1 << 30]["pmb_percent"] > 80 and max(m["pmb_percent"] for m in d["mappings"]) == 100, d
large = {s["page_bytes"]: s for s in by_bytes[48 << 20]["sizes"]}
assert large[65536]["saved_cycles"] < large[2 << 20]["saved_cycles"] / 2, large
lines = [line.split() for line in open("t.directives").read().splitlines()[1:]]
pages = sorted(word for line in lines for word in line if word.startswith("page="))
assert [p for p in pages if p != "page=base"] == ["page=1g", "page=2m", "page=64k"], lines
assert any("page=64k" in line and "superpages=2" in line for line in lines), lines
assert any("page=1g" in line and "superpages=512" in line for line in lines), lines
PY
expect_status 0 "$SMALLOC" directives show t.directives --json
json_is out 'd["totals"]["bad_lines"] == 0'
# Pages of 64 KiB take no superpages.
json_is out 'd["totals"]["on_superpages"] == 2 and d["totals"]["superpages"] == sum(e["superpages"] for e in d["directives"] if e["page_bytes"] > 65536)'
expect_status 0 "$SMALLOC" analyze t.trace --machine ./m.json --seconds 0.1 --no-db --pages 64k,1g
expect_match out '^RANK +SITE +WHERE +PAGE +PMB +PAGES'
expect_match out ' 1 GiB +[0-9.]+ +1 +1 GiB .* yes$'
# A single size that is no superpage: the table counts pages of that size, and the base pages that
# replace them.
expect_status 0 "$SMALLOC" analyze t.trace --machine ./m.json --seconds 0.1 --no-db --pages 1g
expect_match out '^RANK +SITE +WHERE +PAGE +PMB +PAGES'
expect_match out ' 1 GiB +[0-9.]+ +1 +1 GiB '
expect_match out ' 2 MiB +[0-9.]+ +24 +48 MiB '
# A single size: one result a site for that size, with the columns of the default output.
expect_status 0 "$SMALLOC" analyze t.trace --machine ./m.json --seconds 0.1 --no-db --json
json_is out 'all(m["page_bytes"] == 2 << 20 and len(m["sizes"]) == 1 for m in d["mappings"])'
expect_status 0 "$SMALLOC" analyze t.trace --machine ./m.json --seconds 0.1 --no-db
expect_match out '^RANK +SITE +WHERE +PMB +SUPERPAGES'
# A processor without TLB entries for the size.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --no-db --pages 64k,2m --json
expect_match err '^smalloc: warning: a page size is left out \(64k\): the profile zen4 knows no TLB entries for it'
json_is out 'all(len(m["sizes"]) == 1 for m in d["mappings"])'
expect_error 2 'no page size is left' "$SMALLOC" analyze t.trace --machine zen4 --no-db -q --pages 64k
expect_error 2 'not a list of 64k, 2m and 1g' "$SMALLOC" analyze t.trace --pages 4k
