# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The loop of record, analyze and apply with a history. The next run has the known input, the agent
# takes the profile's choice, the run reports that it held, and the next command reads that. Then
# the output of smalloc db and smalloc diff.
. "$(dirname "$0")/../support/lib.sh"
export SMALLOC_CONF=heap:guest,populate:always # only the decisions; heap:auto also gives superpages to filled objects
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_recorded_app

expect_status 0 "$SMALLOC" db list --json
json_is out 'd["schema"] == "smalloc.db-list/1" and d["totals"]["programs"] == 0 and d["version"] >= 2'
expect_error 1 'cannot find the program in the history' "$SMALLOC" db show ./app
[ ! -e "$XDG_STATE_HOME/smalloc" ] || fail "who looks leaves something: $(ls "$XDG_STATE_HOME/smalloc")"
expect_error 125 "cannot find directives .*the history .*has none for build-id" "$SMALLOC" apply -- ./app
expect_status 0 "$SMALLOC" record -q --source instrumented -o t.trace -- ./app one
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --seconds 0.001 -o app.directives
expect_match app.directives '^# smalloc.directives/1 .*input=[0-9a-f]{16} .*program='"$id"
expect_status 0 "$SMALLOC" db list --json
json_is out 'd["totals"] == {"programs": 1, "runs": 1, "analyses": 1, "directives": d["totals"]["directives"]}'
json_is out 'd["programs"][0]["build_id"] == "'"$id"'" and d["machines"][0]["memory_bytes"] > 1 << 26'
expect_status 0 "$SMALLOC" db show "${id:0:10}" --json
json_is out 'd["runs"][0]["kind"] == "recorded" and d["runs"][0]["input"] == d["analyses"][0]["input"] == d["header"]["input"]'
json_is out 'd["analyses"][0]["ranking"][0]["superpages"] == 32'

need_thp
# With the same input: taken, held, reported. With another one: selected by PMB.
runs_huge "$SMALLOC" apply -q -- ./app one
runs_huge "$SMALLOC" apply -q -- ./app two
find "$XDG_STATE_HOME/smalloc/runs" -name "$id.jsonl" -perm 600 | found . || fail "no report of one's own"
[ "$(stat -c %a "$XDG_STATE_HOME/smalloc/runs")" = 700 ] || fail "others may look into the folder"
expect_status 0 "$SMALLOC" db show ./app --json
json_is out '[r["policy"] for r in d["runs"]] == [None, "same-input", "other-input"]'
json_is out 'all(r["kind"] == "superpages" and r["superpages_peak"] >= 24 and r["minor_faults"] > 0 for r in d["runs"][1:])'
# The directive requires superpages. One was still touched in advance, to measure its cost here.
! times_touches || json_is out 'all(r["superpages_touched"] == 1 and 0 < r["touch_seconds"] < r["seconds"] for r in d["runs"][1:])'
json_is out 'any(v["verdict"] == "held" and v["taken"] and v["superpages_predicted"] == 32 for v in d["runs"][1]["directives"])'
json_is out '[x["held"] for x in d["directives"] if x["superpages"] == 32] == [2]'
[ -z "$(ls "$XDG_STATE_HOME/smalloc/runs")" ] || fail "a report was taken and is still there"
expect_status 0 "$SMALLOC" db export ./app -o exported.directives
expect_match exported.directives 'page=2m .*superpages=32 .*held=2/2'
runs_huge env SMALLOC_CONF=heap:guest,directives:exported.directives,validate:off ./app
[ -z "$(ls "$XDG_STATE_HOME/smalloc/runs")" ] || fail "validate:off reports"
# A failed directive loses its rank: in three runs the site did not do what the profile predicted.
for i in 1 2 3 4 5; do
  site=$(grep superpages=32 exported.directives | cut -c1-16)
  echo '{"schema":"smalloc.run/1","program":"'"$id"'","path":"app","host":"h","pid":'$i',"started_ns":'$i',"kind":"superpages","policy":"same-input","directives":[{"site":"'"$site"'","context":null,"taken":true,"superpages_predicted":32,"superpages_peak":0,"live_bytes_peak":0,"verdict":"failed"}]}'
done >"$XDG_STATE_HOME/smalloc/runs/$id.jsonl"
echo nonsense >>"$XDG_STATE_HOME/smalloc/runs/$id.jsonl"
expect_status 0 "$SMALLOC" db show ./app --json
expect_match err '^smalloc: warning: bad reports of runs .*1 lines'
json_is out '[(x["held"], x["validated"], x["given_up"], x["rank"]) for x in d["directives"] if x["superpages"] == 32] == [(2, 7, True, 0)]'
expect_status 0 "$SMALLOC" apply -q -- ./app one
expect_match out "^$SUM huge_kib 0\$" # given up: base pages
# Base pages, three times: a history to compare with.
for _ in 1 2 3; do
  expect_status 0 "$SMALLOC" apply -q --base -- ./app one
  expect_match out "^$SUM huge_kib 0\$"
done
expect_status 0 "$SMALLOC" db show ./app
expect_match out '^SITE +PAGE +RANK +PMB +LEFT'
expect_match out 'given up'
expect_status 0 "$SMALLOC" db export ./app
expect_match out '^# smalloc.directives/1 base_faults=[0-9]+ base_input=[0-9a-f]{16} base_most_ms=[0-9]+ base_ms=[0-9]+ base_runs=[0-9]+ '
# Where a PMU counts, misses are printed beside the prediction; here there is no PMU.
expect_status 0 "$SMALLOC" db show ./app
[ -n "$(find /sys/bus/event_source/devices -name 'cpu*' 2>/dev/null)" ] || expect_no_match out 'TLB misses'
cp "$XDG_STATE_HOME/smalloc/smalloc.db" counted.db
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("counted.db")
db.execute("UPDATE runs SET tlb_misses = CASE kind WHEN 'base' THEN 51234567 ELSE 123456 END")
db.execute("UPDATE analyses SET tlb_misses_base = 5e7, tlb_misses_directed = 1e5, page_faults_base = 17000, page_faults_directed = 600")
db.execute("UPDATE runs SET minor_faults = 17123, superpages_touched = NULL WHERE kind = 'base'")
db.execute("UPDATE runs SET minor_faults = 789, superpages_touched = 32, touch_seconds = 0.008 WHERE kind = 'superpages'")
db.execute("UPDATE directives SET validated = 2, held = 2")
db.commit()
PY
expect_status 0 "$SMALLOC" db show ./app --db counted.db
expect_match out '^TLB misses of a run, counted: 5.12e\+07 on base pages, 1.23e\+05 with directives; predicted 5e\+07 and 1e\+05$'
expect_status 0 "$SMALLOC" db show ./app --db counted.db --json
json_is out 'd["comparison"]["base_tlb_misses"] == 51234567 and d["comparison"]["superpage_tlb_misses"] == 123456'
json_is out 'd["comparison"]["prediction"]["page_faults_base"] == 17000 and d["deviations"] == []'
# The same for first touches. If a count is off by more than a factor of two, another recording is
# suggested, also by `apply`.
expect_status 0 "$SMALLOC" db show ./app --db counted.db
expect_match out '^page faults of a run: 1.71e\+04 on base pages, 789 with directives; predicted 1.7e\+04 and 600$'
expect_match out '^first touch of a superpage: 0.250 ms; predicted [0-9.]+$'
expect_no_match out 'differ from the analysed recording'
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("counted.db")
db.execute("UPDATE runs SET minor_faults = 71234, tlb_misses = 1.5e7 WHERE kind = 'base'")
db.commit()
PY
# A prediction for another machine's TLB causes no deviation.
expect_status 0 "$SMALLOC" db show ./app --db counted.db
expect_match out '^these runs differ from the analysed recording \(7.12e\+04 page faults instead of 1.7e\+04(, 1.5e\+07 TLB misses instead of 5e\+07)?\): '
python3 - "$("$SMALLOC" machine show --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["name"])')" <<'PY'
import sqlite3, sys
db = sqlite3.connect("counted.db")
db.execute("UPDATE analyses SET machine = ?", (sys.argv[1],))
db.commit()
PY
off='7.12e\+04 page faults instead of 1.7e\+04, 1.5e\+07 TLB misses instead of 5e\+07'
expect_status 0 "$SMALLOC" db show ./app --db counted.db
expect_match out "^these runs differ from the analysed recording \\($off\\): record the program again, with all its accesses: smalloc record --rate 1 -- COMMAND, of a build with -fplugin-arg-smalloc-profile-generate\$"
expect_status 0 "$SMALLOC" db show ./app --db counted.db --json
json_is out '[(x["what"], x["measured"]) for x in d["deviations"]] == [("page_faults", 71234), ("tlb_misses", 1.5e7)]'
expect_status 0 "$SMALLOC" apply -n --db counted.db -- ./app one
expect_match err "app: its runs differ from the analysed recording \\($off\\): compile with -fplugin-arg-smalloc-profile-generate, smalloc record --rate 1 -- COMMAND, then smalloc analyze\$"
expect_status 0 "$SMALLOC" apply -q -n --db counted.db -- ./app one
[ ! -s err ] || fail "-q says something: $(cat err)"
# Two runs beside each other.
expect_status 0 "$SMALLOC" db show ./app --json
superpages=$(python3 -c 'import json; print([r["id"] for r in json.load(open("out"))["runs"] if r["policy"] == "same-input" and r["superpages_peak"]][0])')
base=$(python3 -c 'import json; print([r["id"] for r in json.load(open("out"))["runs"] if r["kind"] == "base"][-1])')
expect_status 0 "$SMALLOC" diff "$base" "$superpages" --json
json_is out 'd["schema"] == "smalloc.diff/1" and d["numbers"]["minor_faults"]["ratio"] < 0.5'
json_is out 'd["numbers"]["superpages_peak"]["difference"] >= 24'
expect_status 3 "$SMALLOC" diff "$base" "$superpages" --fail-if 'numbers.superpages_peak.difference > 0'
expect_match out '^superpages_peak +0 +[0-9]+'
expect_status 0 "$SMALLOC" diff t.trace t.trace --json
json_is out 'all(n["difference"] == 0 for n in d["numbers"].values()) and d["sites"][0]["numbers"]["peak_bytes"]["before"] == 64 << 20'
expect_error 1 'cannot compare the run \(999999\): the history has no run' "$SMALLOC" diff 999999 "$base"
expect_error 1 'cannot compare the run \(/\): it is a directory' "$SMALLOC" diff / t.trace
expect_match err '^hint: a trace, a JSON document of smalloc, or the number of a run'
expect_error 1 'cannot compare the run \(gather.c\)' "$SMALLOC" diff gather.c t.trace
expect_no_match err 'different programs'
for program in one two; do
  printf '{"schema": "smalloc.stats/1", "program": "%s", "live_bytes": 1}' $program >$program.json
done
expect_status 0 "$SMALLOC" diff one.json two.json
expect_match err '^smalloc: warning: different programs \(two.json\): one and two'
# A new build of the same program inherits the record of its sites.
"$CLANG" -O1 -g -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o app "${LINK_LIBRARY[@]}"
expect_status 0 "$SMALLOC" apply -n -- ./app one
expect_match err "uses the directives of its earlier build $id"
expect_status 0 "$SMALLOC" db export ./app
expect_match out 'superpages=32 .*held=2/7'
expect_no_match out "$id"
# A build in another folder has no history of its own. The message names what was searched, programs
# of the same name, and how to make their history apply.
mkdir elsewhere
"$CLANG" -O1 -g -DTABLE=1 -Wl,--build-id=0x0123456789 -fplugin="$PLUGIN" -fplugin-arg-smalloc-rewrite=all gather.c -o elsewhere/app "${LINK_LIBRARY[@]}"
expect_error 125 "cannot find directives \\(elsewhere/app\\): the history \\($XDG_STATE_HOME/smalloc/smalloc.db\\) has none for build-id 0123456789, nor for an earlier build at $tmp/elsewhere/app; it has some for $tmp/app \\(build-id [0-9a-f]+\\)$" "$SMALLOC" apply -- elsewhere/app one
expect_match err '^hint: if that is the same program: smalloc db export [0-9a-f]+ -o FILE, then smalloc apply --directives FILE -- elsewhere/app$'
"$SMALLOC" db export "$(sed -n 's/^hint: .* db export \([0-9a-f]*\) .*/\1/p' err)" -o there.directives
expect_status 0 "$SMALLOC" apply -n --directives there.directives -- elsewhere/app one
# Other histories.
expect_status 0 "$SMALLOC" db merge --db other.db "$XDG_STATE_HOME/smalloc/smalloc.db"
expect_status 0 "$SMALLOC" db merge --db other.db "$XDG_STATE_HOME/smalloc/smalloc.db"
expect_status 0 "$SMALLOC" db export --db other.db -o all.json
"$SMALLOC" db list --json >list.json
python3 - <<'PY' || fail "the merged history differs"
import json
there, here = json.load(open("all.json")), json.load(open("list.json"))
assert there["schema"] == "smalloc.db-export/1" and there["totals"] == here["totals"], (there["totals"], here["totals"])
assert len(there["runs"]) == here["totals"]["runs"] and there["directives"][0]["directives"]
PY
expect_status 0 "$SMALLOC" db prune --db other.db --older-than 0s --keep 2 --json
# The new build has never run, the old one keeps two runs.
json_is out 'd["removed"]["runs"] > 3 and d["removed"]["programs"] == 1'
expect_status 3 "$SMALLOC" db list --db other.db --fail-if 'totals.runs <= 2'
# An invalid threshold is reported before anything is deleted.
expect_status 0 "$SMALLOC" db list --db other.db --json
mv out before.json
expect_error 2 "no key 'removed.run'" "$SMALLOC" db prune --db other.db --older-than 0s --keep 0 --fail-if 'removed.run > 0'
expect_status 0 "$SMALLOC" db list --db other.db --json
cmp -s out before.json || fail "something was forgotten"
expect_status 0 "$SMALLOC" db prune --db other.db --older-than 0s --keep 0 --json
json_is out 'd["removed"]["programs"] == 1'
# Arguments of the command line.
expect_error 2 '--older-than much' "$SMALLOC" db prune --older-than much
expect_error 2 '' "$SMALLOC" db
expect_error 1 'cannot find the program in the history \(feed\): no build-id begins so' "$SMALLOC" db show feed
expect_error 1 'cannot find the program in the history \(.*\): no run or analysis of it' "$SMALLOC" db show "$SMALLOC"
"$SMALLOC" db show ./app --json >one.json
python3 - one.json "$id" <<'PY'
import json
import os
import sqlite3
import sys
# Two programs whose build-ids begin alike: the history of a copy contains a second one.
database = os.path.join(os.environ["XDG_STATE_HOME"], "smalloc", "smalloc.db")
source, copy = sqlite3.connect(database), sqlite3.connect("two.db")
source.backup(copy)
copy.execute("UPDATE programs SET build_id = 'abcdef01' || substr(build_id, 9) WHERE build_id = ?", (sys.argv[2],))
row = copy.execute("SELECT * FROM programs WHERE build_id LIKE 'abcdef01%'").fetchone()
copy.execute(f"INSERT INTO programs VALUES ({', '.join('?' * len(row))})", ("abcdef02" + row[0][8:], *row[1:]))
copy.commit()
PY
expect_error 1 'cannot find the program in the history \(abcdef0\): 2 build-ids begin so' "$SMALLOC" db show --db two.db abcdef0
"$CC" -O1 -x c - -o nameless -Wl,--build-id=none <<<'int main(void) { return 0; }'
expect_error 1 'cannot find the program in the history \(./nameless\): it has no build-id' "$SMALLOC" db show ./nameless
expect_match err '^hint: link it with -Wl,--build-id$'
# Documents of two kinds have little in common, and a message says so.
expect_status 0 "$SMALLOC" machine show zen4 --json
mv out machine.json
expect_status 0 "$SMALLOC" diff one.json machine.json
expect_match err '^smalloc: warning: different kinds of documents \(machine.json\)'
expect_error 127 'nosuch' "$SMALLOC" apply -- nosuch
# A file that exists but cannot be executed is not reported as missing.
expect_error 126 'cannot run the command \(./gather.c\): permission denied' "$SMALLOC" apply --base -- ./gather.c
expect_match err '^hint: ls -l ./gather.c$'
expect_status 0 "$SMALLOC" apply -n --directives app.directives --input night --budget 64m -- ./app one
expect_match out "^LD_PRELOAD=.*/libsmalloc.so'? SMALLOC_CONF=directives:$tmp/app.directives,validate:on,input:night,budget:64m ./app one\$"
