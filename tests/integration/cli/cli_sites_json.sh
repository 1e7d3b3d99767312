# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc sites --json prints smalloc.sites/1, sorted by benefit; unknown values are null.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
fixture_app app -Wl,--build-id=0x0123456789abcdef
expect_status 0 "$SMALLOC" sites app --json
json_is out 'd["schema"] == "smalloc.sites/1" and d["joined"] is False and d["model"] == "spread"'
json_is out 'd["binary"] == {"path": "app", "build_id": "0123456789abcdef"}'
json_is out 'd["machine"] == {"name": "zen4", "base_page_bytes": 4096, "reach_pages": 2048, "source": "preset"}'
json_is out '[s["id"] for s in d["sites"]] == ["1" * 16, "2" * 16, "3" * 16]'
json_is out '[s["decision"] for s in d["sites"]] == ["superpage", "runtime", "base"]'
json_is out '[s["decided_by"] for s in d["sites"]] == ["compiler", "directive", "compiler"]'
json_is out '[s["rewritten"] for s in d["sites"]] == [True, True, False]'
json_is out '[s["page_bytes"] for s in d["sites"]] == [2097152, 2097152, 4096]'
json_is out '[s["size_bytes"] for s in d["sites"]] == [134217728, None, None]'
json_is out '[s["misses_per_access"] for s in d["sites"]] == [0.5, 0.25, None]'
json_is out '[s["confidence"] for s in d["sites"]] == [0.9, 0.7, 0.5]'
json_is out '{"context", "function", "file", "line", "column", "callee", "element_bytes", "pattern", "spread_pages", "spread_expr", "saving_cycles_per_access", "first_touch_faults_saved", "fully_initialised", "heap", "why"} <= set(d["sites"][0])'
json_is out '(d["totals"]["sites"], d["totals"]["superpage"], d["totals"]["base"], d["totals"]["runtime"]) == (3, 1, 1, 1)'
expect_status 0 "$SMALLOC" sites app --json -o 'sites.%p.json'
[ ! -s out ] || fail "a result on standard output beside -o"
json_is sites.*.json 'd["totals"]["sites"] == 3'
