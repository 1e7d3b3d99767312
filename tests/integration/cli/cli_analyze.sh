# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc analyze turns a recording into a ranking and a directives file, the same bytes each time; bad input is named.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
write_gather
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --source instrumented -o t.trace -- ./app
# First touches alone: the table's 16,384 faults become 32.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 --json -o a.directives
expect_match err '^smalloc: warning: no data accesses \(t.trace\)'
mv out a.json
json_is a.json 'd["schema"] == "smalloc.analyze/1" and not d["has_accesses"] and d["significant"]'
json_is a.json 'd["mappings"][0]["category"]["function"] in ("gather", "main") and d["mappings"][0]["pmb_percent"] == 100'
json_is a.json 'd["mappings"][0]["superpages"] == 32 and d["mappings"][0]["footprint_bytes"] == 64 << 20'
json_is a.json '16300 <= d["mappings"][0]["page_faults_base"] - d["mappings"][0]["page_faults"] <= 16384'
json_is a.json 'all(a["pmb_percent"] >= b["pmb_percent"] for a, b in zip(d["mappings"], d["mappings"][1:]))'
"$SMALLOC" sites app --json >sites.json
python3 - <<'PY' || fail "the directives are not of the program's sites"
import json
ids = {s["id"] for s in json.load(open("sites.json"))["sites"]}
lines = open("a.directives").read().splitlines()
words = dict(word.split("=") for word in lines[0].split()[2:])
assert lines[0].startswith("# smalloc.directives/1 ") and words["machine"] == "zen4", lines[0]
assert len(words["program"]) >= 16 and len(words["input"]) == 16 and words["seconds"] == "0.001", lines[0]
assert 16300 <= int(words["faults_saved"]) <= 20000 and int(words["saved_ms"]) >= 1, lines[0]
assert len(lines) > 1 and {line[:16] for line in lines[1:]} <= ids, lines
assert lines == sorted(lines)
PY
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 --json -q -o b.directives
cmp a.directives b.directives || fail "another run, other directives"
# A budget of one superpage leaves no room for the table.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 --budget 2m --json
json_is out 'not d["mappings"][0]["chosen"] and d["chosen"]["superpages"] <= 1 and d["budget_bytes"] == 2 << 20'
# In a run of an hour these few faults are not worth a superpage.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 3600 --json
json_is out 'not d["significant"] and d["chosen"]["superpages"] == 0'
expect_status 0 "$SMALLOC" analyze t.trace --categories paper --significance paper --machine zen4
expect_match out 'large dynamic'
expect_status 0 "$SMALLOC" analyze t.trace --categories paper --machine zen4 --seconds 0.001 --no-db -o paper.directives
expect_match err "no directives \(paper.directives\): --categories paper gives no sites"
# The same recording given twice, also under another name, counts once; another recording of the
# program adds to it.
cp t.trace copy.trace
expect_status 0 "$SMALLOC" record -q --source instrumented -o u.trace -- ./app
expect_status 0 "$SMALLOC" analyze t.trace ./t.trace copy.trace --machine zen4 --seconds 0.001 --no-db --json
expect_match err '^smalloc: warning: a trace is named twice \(./t.trace\): it holds the same recording as t.trace'
expect_match err '^smalloc: warning: a trace is named twice \(copy.trace\)'
json_is out 'len(d["traces"]) == 1 and d["mappings"][0]["page_faults_base"] == json.load(open("a.json"))["mappings"][0]["page_faults_base"]'
expect_status 0 "$SMALLOC" analyze t.trace u.trace --machine zen4 --seconds 0.001 --no-db --json
json_is out 'len(d["traces"]) == 2'
# A missing key is reported before anything is read; a missing key below a list, before anything is
# printed.
expect_error 2 "no key 'nosuch'" "$SMALLOC" analyze t.trace --machine zen4 -o never.directives --fail-if 'nosuch > 1'
[ ! -s out ] && [ ! -e never.directives ] || fail "refused after the result: $(cat out)"
expect_error 2 "no key 'mappings.0.nosuch'" "$SMALLOC" analyze t.trace --machine zen4 -o never.directives --fail-if 'mappings.0.nosuch > 1'
[ ! -s out ] && [ ! -e never.directives ] || fail "refused after the result: $(cat out)"
# The plot has a point for each mapping, and the chosen ones are filled and on top.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 --no-db --json --plot p.svg
python3 - <<'PY' || fail "the picture is not what was found"
import json, xml.etree.ElementTree as tree
root, found = tree.parse("p.svg").getroot(), json.load(open("out"))["mappings"]
points = root.findall("{http://www.w3.org/2000/svg}circle")
assert len(points) == len(found) > 0, len(points)
filled = [p for p in points if p.get("fill") != "white"]
assert len(filled) == sum(m["chosen"] for m in found) > 0
assert points[-len(filled):] == filled, [p.get("fill") for p in points]
for drawn in (filled, points[:-len(filled)]):
    heights = [float(p.get("cy")) for p in drawn]
    assert heights == sorted(heights), heights  # by rank: the best is the highest
best = next(m for m in found if m["chosen"])
assert filled[0][0].text.startswith(f"{best['rank']}: {best['category']['function']} gather.c:"), filled[0][0].text
PY
expect_error 1 'cannot write the result \(/nope/p.svg\)' "$SMALLOC" analyze t.trace --machine zen4 --no-db --plot /nope/p.svg
expect_match err '^hint: --plot FILE in a folder that you may write'
expect_error 1 'cannot write the result \(p.svg/q\): not a directory' "$SMALLOC" analyze t.trace --machine zen4 --no-db --plot p.svg/q
# The suggested next command is different for a program without libsmalloc.
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate gather.c -o alone
expect_status 0 "$SMALLOC" record -q --rate 1 -o alone.trace -- ./alone
expect_status 0 "$SMALLOC" analyze alone.trace --machine zen4 --no-db -o alone.directives
expect_match err 'next: smalloc apply --directives alone.directives -- ./alone$'
expect_status 0 "$SMALLOC" apply --directives alone.directives -- ./alone
expect_match out "^$SUM huge_kib"
# The text output, and the other verbs on the directives file.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4
expect_match out '^RANK +SITE'
expect_status 0 "$SMALLOC" directives show a.directives --json
json_is out 'd["totals"]["bad_lines"] == 0 and d["header"]["machine"] == "zen4" and d["totals"]["directives"] >= 1'
sed 's/page=2m/page=base/' a.directives >c.directives
sed 's/page=base/page=2m/' a.directives >d.directives
expect_status 3 "$SMALLOC" directives diff c.directives d.directives --fail-if 'totals.differences > 0'
expect_status 0 "$SMALLOC" directives diff a.directives a.directives
expect_match out '^no decision differs$'
expect_status 0 "$SMALLOC" directives merge a.directives b.directives -o m.directives
cmp a.directives m.directives || fail "a file merged with itself differs"
echo nonsense >>a.directives
expect_status 0 "$SMALLOC" directives show a.directives
expect_match err '^smalloc: warning: bad directive \(a.directives:[0-9]+\)'
expect_no_match err 'truncated'
head -c -3 a.directives >cut.directives
expect_status 0 "$SMALLOC" directives show cut.directives
expect_match err '^smalloc: warning: truncated directives \(cut.directives\): its last line has no newline; [0-9]+ directives could be read$'
expect_error 1 'cannot read the directives \(gather.c\): it does not begin with' "$SMALLOC" directives show gather.c
expect_error 1 'cannot read the trace \(gather.c\): it has no smalloc.trace/1 header' "$SMALLOC" analyze gather.c
expect_error 2 '--budget much' "$SMALLOC" analyze t.trace --budget much
expect_error 2 "analyze .*machine apple-m1.: its base pages have 16 KiB, those of traces 4 KiB" "$SMALLOC" analyze t.trace --machine apple-m1
expect_error 1 'cannot use machine profile \(nosuch\)' "$SMALLOC" analyze t.trace --machine nosuch
expect_error 2 '' "$SMALLOC" analyze
# Invalid times.
for seconds in -1 0 nan inf 1s ''; do
  expect_error 2 "'$seconds' is not seconds above 0" "$SMALLOC" analyze t.trace --seconds "$seconds"
done
expect_error 2 'is not a percentage' "$SMALLOC" analyze t.trace --least-pmb nan
# A very short run is not significant, whatever its share.
printf '#include <stdlib.h>\nint main(void) { free(malloc(100)); return 0; }\n' >tiny.c
"$CLANG" -O0 tiny.c -o tiny
expect_status 0 "$SMALLOC" record -q --source instrumented -o tiny.trace -- ./tiny
expect_status 0 "$SMALLOC" analyze tiny.trace --machine zen4 --seconds 0.00001
expect_match out '^significance: no, nothing is chosen: [0-9.e-]+ ms in all '
# A sample without an access, of a program that is instrumented.
"$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate gather.c -o told "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" record -q --rate 1e-9 -o none.trace -- ./told
expect_status 0 "$SMALLOC" analyze none.trace --machine zen4
expect_match err 'no data accesses \(none.trace\): at rate .* none of the 2 MiB regions that it accesses was sampled'
expect_match err '^hint: smalloc record --rate 1 -- ./told$'
# Sites of the plugin without an access in the sample are still reported as sites of the plugin.
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 --no-db --mappings 0 -o few.directives
expect_match err '^smalloc: warning: no directives \(few.directives\): of the [0-9]+ sites? compiled with the plugin none is among the 0 that were evaluated, those with the most accesses$'
expect_status 0 "$SMALLOC" record -q --source instrumented -o tiny.trace -- ./tiny
expect_status 0 "$SMALLOC" analyze tiny.trace --machine zen4 --seconds 0.00001 --no-db -o tiny.directives
expect_match err '^smalloc: warning: no directives \(tiny.directives\): no site of the traces was compiled with the plugin'
