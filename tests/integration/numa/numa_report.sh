# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc numa report: one page without network access. Its maps decode to the node of every page in
# each interval.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$SMALLOC_BUILD/lib/libsmalloc_numa_recorder.so" ] || skip "omp-tools.h was not found: no recorder"
"$SMALLOC_SOURCE/scripts/numa-kernel" "$SMALLOC_SOURCE/benchmarks/numa/mg.c" mg "$SMALLOC_BUILD/lib"
SMALLOC_NUMA_TRACE='mg<script>.trace' OMP_NUM_THREADS=12 OMP_WAIT_POLICY=passive expect_status 0 timeout 120 ./mg 32 8
expect_error 2 'cannot write the report' "$SMALLOC" numa report 'mg<script>.trace'
expect_match err '^hint: .* -o report.html'
expect_status 0 timeout 120 "$SMALLOC" numa report 'mg<script>.trace' --machine sun-fire-6800 --shrink 256 --sample 2 --intervals 12 -o r.html
[ ! -s out ] || fail "the page went to standard output too"
expect_no_match r.html 'https?://'
[ "$(grep -c '<script>' r.html)" = 1 ] || fail "the trace's name opens a script"
python3 - <<'PY' || fail "the page's maps do not hold"
import json, re, sys
text = open("r.html").read()
data = json.loads(re.search(r"const D = (\{.*?\});\nconst \$", text, re.S).group(1))
assert data["schema"] == "smalloc.numa.report/1" and data["nodes"] == 6
assert len(data["frames"]) == len(data["moved_to"]) == data["result"]["intervals"] == 12
def decode(code):
    return "".join(letter * int(n or 1) for letter, n in re.findall(r"([^0-9])([0-9]*)", code))
for frame in data["frames"]:
    assert len(decode(frame["a"])) == len(decode(frame["b"])) == 512 * len(frame["u"])
last = data["frames"][-1]
without, moved = decode(last["a"]), decode(last["b"])
touched = sum(c != "." for c in without)
assert touched == data["result"]["pages"] == sum(c != "." for c in moved), touched
assert without.count("A") > 0.9 * touched          # serial initialisation
assert len(set(moved) - {"."}) == 6 and moved.count("A") < 0.5 * touched
shown = [s for s in data["result"]["schemes"] if s["name"] == "cache-misses"][0]
assert sum(map(sum, data["moved_to"])) == shown["moved_base_pages"] > 0
PY
if command -v node >/dev/null; then
  sed -n '/^<script>$/,/^<\/script>/p' r.html | sed '1d;s/<\/script>.*//' >page.js
  node --check page.js || fail "the page's script is no JavaScript"
fi
