#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc report: one page of what compiler, profile and run say, with the same sites side by side; it needs nothing from
# elsewhere, whatever stands in documents is text there, and what is no document is refused by name.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --source instrumented -o app.trace -- ./app one
SMALLOC_CONF=stats:json,stats_file:stats.json expect_status 0 ./app one
expect_status 0 "$SMALLOC" report ./app app.trace stats.json --machine zen4 -o all.html
expect_match err '^smalloc: note: open all.html in a browser'
# Another run appends its statistics: the last one's count.
cp stats.json first.json
SMALLOC_CONF=stats:json,stats_file:stats.json expect_status 0 ./app one
tail -c +$(($(wc -c <first.json) + 1)) stats.json >second.json
expect_status 0 "$SMALLOC" report stats.json --json
expect_match err '^smalloc: note: stats.json holds 2 documents'
mv out both.json
expect_status 0 "$SMALLOC" report second.json --json
python3 - <<'PY' || fail "the report is not of the last document"
import json
both, second = (open(name).read() for name in ("both.json", "out"))
assert both.replace("stats.json", "second.json") == second, (both, second)
assert json.load(open("first.json")) != json.load(open("second.json"))
PY
expect_status 0 "$SMALLOC" diff first.json stats.json
expect_match err '^smalloc: note: stats.json holds 2 documents'
cp first.json stats.json

# check PAGE CODE: the page is complete and self-contained; then runs CODE on it. page.tables: rows
# by the title of the section.
check() {
  python3 - "$@" <<'PY' || fail "$1: $2"
import html.parser
import sys

class Page(html.parser.HTMLParser):
    """Sections by title, with the rows of their tables; every element is closed, none asks for another file."""
    VOID = {"meta", "br", "input"}
    def __init__(self):
        super().__init__()
        self.open, self.tables, self.title, self.scripts, self.list = [], {}, None, 0, []
        self.cell = None
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "action", "data") and not name.startswith("on"), (tag, name)
            assert name != "href" or value.startswith("#"), value
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "td", "th", "li"):
            self.cell = ""
        if tag == "tr":
            self.tables.setdefault(self.title, []).append([])
    def handle_startendtag(self, tag, attributes):
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
        if tag in ("h1", "h2"):
            self.title = self.cell
            self.tables.setdefault(self.title, [])
        elif tag in ("td", "th"):
            self.tables[self.title][-1].append(self.cell)
        elif tag == "li":
            self.list.append(self.cell)
    def handle_data(self, text):
        if self.cell is not None:
            self.cell += text

page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert not page.open, page.open
assert page.scripts == 1, page.scripts
assert eval(sys.argv[2]), (page.tables, page.list)
PY
}
check all.html 'list(page.tables)[:2] == ["app: smalloc report", "Site by site"] and len(page.tables) == 5'
check all.html 'page.tables["Site by site"][0] == ["site", "where", "the compiler" + chr(39) + "s decision", "benefit (PMB)", "superpages expected", "superpages of the run", "peak live"]'
# The gathered table: 32 superpages by the profile, with the compiler's reason.
check all.html 'any(r[1].startswith("gather.c:") and r[3].endswith("%") and float(r[3][:-1]) > 50 and r[4] == "32" and len(r[2]) > 20 for r in page.tables["Site by site"][1:])'
check all.html 'any("superpages pay for" in line for line in page.list) and any("allocation site" in line for line in page.list) and any("heaps" in line for line in page.list)'
check all.html 'any(r[-1] == "yes" for r in page.tables["What superpages would save"])'
# Tables can be sorted with the keyboard; dark screens and paper have rules of their own.
expect_match all.html 'th.tabIndex = 0'
expect_match all.html 'prefers-color-scheme:dark'
expect_match all.html '@media print'
# The page begins with the main result: the saving and its share, for how much memory, at which
# sites, in milliseconds.
expect_match all.html '^<p class="first">You save [0-9.]+ m?s of [0-9.]+ m?s a run as recorded, for (no|at most [0-9.]+ ([KMG]iB|B)) more memory. [0-9]+ sites? matters?: [a-z_]+ gather.c:[0-9]+'
check all.html '"ms saved" in page.tables["What superpages would save"][0] and not any("cycles" in h for h in page.tables["What superpages would save"][0])'
expect_match all.html '<text [^>]*>1: [a-z_]+ gather.c:[0-9]+</text>'
# A long name takes one line: its class and function, of which the end is cut last. Hovering and the
# focus show it whole, and so they do with a folder. Sites of one place are named once, and have
# their rank in the picture.
cat >long.json <<'J'
{"schema": "smalloc.analyze/1", "frequency_hz": 1e9, "runs": 1, "run_seconds": 8.4, "expected": {"saved_seconds": 1.2},
 "mappings": [{"rank": 1, "category": {"id": "00000000000000ab", "function": "_ZNSt6vectorIiSaIiEE9push_backEOi", "file": "/usr/include/c++/12/bits/stl_vector.h", "line": 7},
  "saved_cycles": 1.2e9, "saved_cycles_low": 1e9, "saved_cycles_high": 2e9, "superpages": 3, "page_bytes": 2097152, "footprint_bytes": 3145728, "chosen": true, "pmb_percent": 100},
  {"rank": 2, "category": {"id": "00000000000000ac", "function": "main", "file": "a.c", "line": 3}, "saved_cycles": 5e8, "saved_cycles_low": 5e8, "saved_cycles_high": 5e8,
  "tlb_misses_base": 1.25e7, "tlb_misses": 46592, "chosen": true, "pmb_percent": 50},
  {"rank": 3, "category": {"id": "00000000000000ad", "function": "main", "file": "a.c", "line": 3}, "chosen": true, "pmb_percent": 20}]}
J
expect_status 0 "$SMALLOC" report long.json -q -o long.html
expect_match long.html '^<p class="first">You save 1.2 s of 8.4 s a run, for at most 3 MiB more memory. 3 sites matter: vector&lt;&gt;::push_back stl_vector.h:7, main a.c:3 \(2 sites\).</p>$'
expect_match long.html '<td class="name whole good" tabindex="0" title="std::vector&lt;int, std::allocator&lt;int&gt; &gt;::push_back\(int&amp;&amp;\)"><div><span class="cut">vector&lt;&gt;::</span><span>push_back</span></div></td>'
expect_match long.html '<td class="name whole" tabindex="0" title="/usr/include/c\+\+/12/bits/stl_vector.h:7"><div><span class="cut">stl_vector.h</span><span>:7</span></div></td>'
expect_match long.html '<text [^>]*>2: main a.c:3</text>'
expect_match long.html '<text [^>]*>3: main a.c:3</text>'
check long.html 'page.tables["What superpages would save"][1][4] == "12001000 to 2000"'
# No percentage above 100: superpages for everything may save less than the chosen ones.
check all.html 'not any("%" in line and float(line.split(" %")[0].split("(")[-1]) > 100 for line in page.list)'
expect_match long.html '<li>: superpages pay for .* [(]superpages for everything would not save more[)]</li>'
# A count is no power of ten, an interval without width is not shown, and an unknown number is on
# the right as the others.
check long.html '[r[4] for r in page.tables["What superpages would save"][2:]] == ["500", "-"]'
check long.html 'page.tables["What superpages would save"][2][7:9] == ["12.5 M", "46,592"]'
expect_match long.html '<td class="n">-</td>'
# The reason stands beside the decision, copies of an inlined site are one row, and of a long table
# a box shows the rest.
python3 - <<'PY'
import json
site = {"id": "%016x" % 1000, "function": "_ZN1a1fEv", "file": "a.h", "line": 3, "column": 7, "callee": "malloc", "decision": "base", "why": "streamed"}
sites = [site, site, site] + [{**site, "id": "%016x" % i} for i in range(29)]
for count in (24, 32):
    json.dump({"schema": "smalloc.sites/1", "totals": {"sites": count}, "sites": sites[:count]}, open(f"sites{count}.json", "w"))
PY
expect_status 0 "$SMALLOC" report sites32.json -q -o sites.html
check sites.html '[r[0] for r in page.tables["Allocation sites of sites32.json"][:3]] == ["site", "a::f3 copies", "a::f"] and len(page.tables["Allocation sites of sites32.json"]) == 31'
check sites.html 'page.tables["Allocation sites of sites32.json"][1][1:] == ["a.h:3:7", "malloc", "basestreamed"]'
expect_match sites.html '<label><input type="checkbox"> show all 30 rows, not only the first 25</label>'
expect_status 0 "$SMALLOC" report sites24.json -q -o sites.html
expect_no_match sites.html '<label>'
# A history is printed as tables for people, not JSON: times, sizes, and what runs have measured.
expect_status 0 "$SMALLOC" analyze app.trace --machine zen4 -q -o x.directives
expect_status 0 "$SMALLOC" db show ./app --json -o history.json
expect_status 0 "$SMALLOC" report history.json -q -o history.html
expect_no_match history.html '[{]&quot;|&quot;:|_ns<|_bytes<'
check history.html 'not any(cell.isdigit() and len(cell) > 8 for r in page.tables["History of app"] for cell in r)'
expect_match history.html '<h3>runs</h3>'
check history.html 'list(page.tables)[:2] == ["app: smalloc report", "History of app"]'
check history.html 'any(r[0] == "1" and r[1].startswith("20") and r[1][4] == "-" and "recorded" in r for r in page.tables["History of app"])'
check history.html 'any("too few to compare" in line for line in page.list)'
cat >measured.json <<'J'
{"schema": "smalloc.db-show/1", "program": "0123456789abcdef0123", "path": "/home/app", "runs": [],
 "comparison": {"enough": true, "base_runs": 3, "superpage_runs": 4, "base_seconds": 8.4, "superpage_seconds": 7.21},
 "directives": [{"id": "00000000000000ab", "page": "base", "rank": 0, "superpages": 1}, {"id": "00000000000000ac", "page": "2m", "rank": 2, "held": 3, "validated": 4, "pmb_percent": 50},
  {"id": "00000000000000ad", "page": "2m", "rank": 1, "pmb_percent": 99}],
 "analyses": [{"ranking": [{"id": "00000000000000ad", "function": "main", "file": "a.c", "line": 3}]}],
 "deviations": [{"what": "page_faults", "measured": 38426.0, "predicted": 17740.0}]}
J
expect_status 0 "$SMALLOC" report measured.json -q -o measured.html
expect_match measured.html '^<p class="first">Measured: 7.2 s with superpages, 8.4 s on base pages \(medians of 4 and 3 runs\).</p>$'
sed -i 's/"base_seconds": 8.4/&, "base_least_seconds": 7.1, "base_most_seconds": 9/' measured.json
expect_status 0 "$SMALLOC" report measured.json -q -o measured.html
expect_match measured.html '^<p class="first">Measured: .* [(]medians of 4 and 3 runs[)]: within the spread of the runs on base pages.</p>$'
expect_match measured.html 'page faults 38,426 instead of 17,740'
check measured.html '[r[:2] for r in page.tables["History of app"][1:]] == [["1", "main"], ["2", "00000000000000ac"], ["-", "00000000000000ab"]]'
# With one source there is nothing to join; several traces are one analysis.
expect_status 0 "$SMALLOC" record -q --source instrumented -o again.trace -- ./app two
expect_status 0 "$SMALLOC" report app.trace again.trace --machine zen4 --title 'two < three' -q -o two.html
[ ! -s err ] || fail "-q: $(cat err)"
check two.html 'list(page.tables) == ["two < three", "What superpages would save"]'
# Other documents: the plot of a study, and a document of an unknown verb.
expect_status 0 "$SMALLOC" study -r 2 --pages program,base --json -o study.json -- ./app one
expect_status 0 "$SMALLOC" machine show zen4 --json -o machine.json
expect_status 0 "$SMALLOC" report study.json machine.json -o more.html
expect_no_match more.html '[{]&quot;|&quot;:'
check more.html 'len(page.tables["Page sizes compared"]) == 3'
# A machine profile is rows with sizes and times, not keys; a clock rate shows cycles as time.
check more.html '["TLB level 2, 4 KiB, 2 MiB", "3072 entries, 8-way", "preset"] in page.tables["The machine zen4"]'
check more.html 'not any("_" in cell for rows in page.tables.values() for r in rows for cell in r)'
python3 - <<'PY'
import json
profile = json.load(open("machine.json")) | {"frequency_hz": 2e9, "l2_hit_cycles": 7, "disagreements": ["cpuid and latency differ"]}
json.dump({"schema": "smalloc.calibrate/1", "noisy": True, "profile": profile}, open("calibrate.json", "w"))
json.dump({**profile, "tlb": 3}, open("refused.json", "w"))
PY
expect_status 0 "$SMALLOC" report calibrate.json refused.json -q -o calibrate.html
check calibrate.html '["second-level hit", "7 cycles, 3.5 ns", "unknown"] in page.tables["The machine zen4"] and ["clock rate", "2 GHz", "profile"] in page.tables["The machine zen4"]'
check calibrate.html '"smalloc machine: refused.json" in page.tables'
expect_match calibrate.html '^<p>The repeats disagreed'
expect_match calibrate.html '^<p>cpuid and latency differ'
# The checks of the system: what is wrong comes first.
cat >doctor.json <<'J'
{"schema": "smalloc.doctor/1", "totals": {"checks": 2, "warn": 1, "fail": 0}, "checks": [{"name": "thp", "status": "ok", "value": 1, "message": "madvise", "fix": null},
 {"name": "swap", "status": "warn", "value": 2, "message": "swaps", "fix": "swapoff"}]}
J
expect_status 0 "$SMALLOC" report doctor.json -q -o doctor.html
check doctor.html '[r[:3] for r in page.tables["Checks of the system"]] == [["check", "result", "finding"], ["swap", "warn", "swaps"], ["thp", "ok", "madvise"]]'
# Any other document: keys are words, and values have the unit that the key names. Objects with
# equal keys are rows of one table.
cat >other.json <<'J'
{"schema": "smalloc.try/1", "cost": {"cpu_seconds": {"without": 0.11148, "with": 1.66, "ratio": 0.67, "low": 0.6}, "peak_memory_bytes": {"without": 19091456.0, "with": 18591744.0, "ratio": 1.027, "low": 1}},
 "heap_bytes_peak": 12881920, "pid": 12345, "runs": [{"first_seen_ns": 1795932965000000000, "delay_ns": 2500000, "frequency_hz": 3e9, "read_bytes_per_second": 1e9}],
 "share_percent": 12.34, "large_bytes": 1e300, "nested": {"deep": {"misses": 1234567}}}
J
expect_status 0 "$SMALLOC" report other.json -q -o other.html
check other.html 'page.tables["smalloc try: other.json"] == [["what", "value"], ["heap bytes peak", "12.3 MiB"], ["pid", "12345"], ["share", "12.3 %"], ["large bytes", "1e+300"], ["nested: deep: misses", "1,234,567"], ["", "without", "with", "ratio", "low"], ["cpu", "111 ms", "1.7 s", "0.67", "0.6"], ["peak memory bytes", "18.2 MiB", "17.7 MiB", "1.027", "1"], ["first seen", "delay", "frequency", "read"], ["2026-11-29 06:16", "2.5 ms", "3 GHz", "953.7 MiB/s"]]'
expect_match other.html '<h3>cost</h3>'
# What two runs had of a site is one cell.
cat >diff.json <<'J'
{"schema": "smalloc.diff/1", "before": {"name": "a"}, "after": {"name": "b"}, "sites": [{"name": "f", "numbers": {"live_bytes": {"before": 1024, "after": 2048, "ratio": 2},
  "peak_bytes": {"before": 4096, "after": 4096, "ratio": 1}}}]}
J
expect_status 0 "$SMALLOC" report diff.json -q -o diff.html
check diff.html 'page.tables["smalloc diff: diff.json"][-2:] == [["name", "live bytes", "peak bytes"], ["f", "1 KiB → 2 KiB", "4 KiB"]]'
# Counters of a run are words, too. Times of a profile without a clock rate name the assumed rate.
check all.html 'any(r[0] == "superpages peak" for r in page.tables["A run of app"]) and not any("_" in r[0] for r in page.tables["A run of app"] if len(r) == 2)'
expect_match all.html '^<p>The profile zen4 has no clock rate: the times are for 3 GHz. `smalloc calibrate` measures this machine.</p>$'
grep -q '<svg ' more.html || fail "no picture of the study"
# Everything in a document is text: names with markup, values of another type, an empty document.
cat >hostile.json <<'J'
{"schema": "smalloc.analyze/1", "traces": [{"path": "</title><script>alert(1)</script>"}, 7], "machine": 3, "chosen": [], "significance": null,
 "mappings": [{"rank": "first", "category": {"id": "00000000000000aa", "function": "<img src=x onerror=alert(1)>", "file": "\"><script>", "line": -4},
   "pmb_percent": 1e308, "superpages": -5, "footprint_bytes": -1e300, "chosen": "no"}, null, [], {"category": 5}]}
J
cat >others.json <<'J'
{"schema": "smalloc.stats/1", "program": "<b>", "counters": {"<i>": 1, "superpages_peak": 1e30}, "sites": [{"id": "00000000000000aa", "function": "<u>", "superpages_peak": {}}], "heaps": 4}
J
echo '{"schema": "smalloc.study/1", "commands": [{"name": "<s>", "results": [{}]}], "configurations": 3}' >third.json
echo '{"schema": "smalloc.new/<9>", "list": [{"<a>": null}, {"<b>": [1, "<c>"]}], "word": "<d>"}' >fourth.json
expect_status 0 "$SMALLOC" report hostile.json others.json third.json fourth.json -q -o hostile.html
check hostile.html '[r[0] for r in page.tables["Site by site"]] == ["site", "<img src=x onerror=alert(1)>"]'
check hostile.html '"<b>: smalloc report" in page.tables and "smalloc new: fourth.json" in page.tables'
# Numbers outside any axis, endless lists, and very deep nesting.
for results in '[]' '[{"seconds":{"median":1e300,"low":0,"high":1},"speedup":1.79e308,"below_noise":null,"footprint":{"maximum_bytes":5.2e-318}}]'; do
  echo '{"schema":"smalloc.study/1","metric":"cpu","configurations":["a"],"commands":[{"name":"x","results":'"$results"'}]}' >odd.json
  (ulimit -v 2000000 && exec "$SMALLOC" report odd.json -q -o odd.html) || fail "a study of $results"
  check odd.html '"Page sizes compared" in page.tables'
done
python3 -c 'import json; print(json.dumps({"schema": "smalloc.new/1", "list": [{f"k{i}": i} for i in range(3000)]}))' >wide.json
expect_status 0 "$SMALLOC" report wide.json -q -o wide.html
[ "$(stat -c %s wide.html)" -lt 1000000 ] || fail "a page of $(stat -c %s wide.html) bytes"
python3 -c 'print("{\"schema\": \"smalloc.new/1\", \"a\": " + "[" * 100000 + "]" * 100000 + "}")' >deep.json
expect_error 1 'cannot report \(deep.json\): it is nested too deeply' "$SMALLOC" report deep.json -o x.html
printf '{' >large.json
truncate -s 3G large.json
expect_error 1 'cannot report \(large.json\): it is larger than 64 MiB' "$SMALLOC" report large.json -o x.html
rm large.json
# A site keeps its function's name if another source has no name.
echo '{"schema": "smalloc.analyze/1", "mappings": [{"category": {"id": "00000000000000aa", "function": "f"}}]}' >named.json
echo '{"schema": "smalloc.stats/1", "sites": [{"id": "00000000000000aa", "function": null}]}' >nameless.json
for order in "named.json nameless.json" "nameless.json named.json"; do
  # shellcheck disable=SC2086 # two files
  expect_status 0 "$SMALLOC" report $order -q -o order.html
  check order.html '[r[0] for r in page.tables["Site by site"]] == ["site", "f"]'
done
# --json prints the documents themselves, and --fail-if tests them.
expect_status 0 "$SMALLOC" report ./app stats.json --json
json_is out 'd["schema"] == "smalloc.report/1" and [x["schema"] for x in d["documents"]] == ["smalloc.sites/1", "smalloc.stats/1"]'
expect_status 3 "$SMALLOC" report ./app --json --fail-if 'documents.0.totals.sites > 0'
# Usage errors.
expect_error 2 'cannot write the report \(./app\): it is one HTML page: name the file' "$SMALLOC" report ./app 'a b.trace'
expect_match err "^hint: smalloc report ./app 'a b.trace' -o report.html$"
expect_error 1 'cannot report \(none.json\): no such file' "$SMALLOC" report none.json -o x.html
echo '{"schema": ' >half.json
expect_error 1 'cannot report \(half.json\): it is no whole JSON document' "$SMALLOC" report half.json -o x.html
echo '{"a": 1}' >foreign.json
expect_error 1 'cannot report \(foreign.json\): it is no document of smalloc' "$SMALLOC" report foreign.json -o x.html
: >empty
expect_error 1 'cannot report \(empty\): it is empty' "$SMALLOC" report empty -o x.html
expect_error 1 'no allocation sites' "$SMALLOC" report /bin/true -o x.html
echo words >words.txt
expect_error 1 'words.txt' "$SMALLOC" report ./app words.txt -o x.html
expect_error 1 'cannot report \(.*\): it is a pipe' "$SMALLOC" report <(echo '{}') -o x.html
[ ! -e x.html ] || fail "a page was written all the same"
