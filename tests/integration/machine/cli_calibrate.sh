# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc calibrate writes a profile that the other verbs read, with a source for each number, and
# never half a file.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
export HOME=$tmp/home
unset XDG_CONFIG_HOME
mkdir home
available=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
[ "$available" -gt 1500000 ] || skip "calibrating needs 1.5 GB of free memory"

expect_error 1 'cannot use machine profile .*machine.json.*none is stored' "$SMALLOC" calibrate --check
expect_error 1 'none is stored' "$SMALLOC" machine show stored
expect_error 1 'cannot use machine profile \(/nope/x\): none is stored there' "$SMALLOC" calibrate --profile /nope/x --check
expect_match err '^hint: smalloc calibrate --profile /nope/x$'
expect_error 1 '/nope/x/y.json.*no such file' "$SMALLOC" machine show /nope/x/y.json
expect_match err '^hint: ls -l /$' # the nearest folder that exists
expect_status 0 "$SMALLOC" calibrate --quick --json
json_is out 'd["schema"] == "smalloc.calibrate/1" and d["profile"]["schema"] == "smalloc.machine/1"'
json_is out 'd["written_to"].endswith("/home/.config/smalloc/machine.json") and d["elapsed_seconds"] > 0'
json_is out '(d["pmu"]["walk_cycles"] is None) == (d["pmu"]["why"] is not None)'
json_is out 'd["pmu"]["why"] is None or any(d["pmu"]["why"] in line for line in d["profile"]["disagreements"])'
json_is out 'type(d["noisy"]) is bool and d["noise_ratio"] >= 1'
# Unknown, with a range: a second level whose rounds disagree, of an unknown processor.
json_is out 'all(t["entries"]["source"] in ("measured", "preset", "cpuid") or (t["level"] == 2 and d["noisy"] and t["entries"]["low"]) for t in d["profile"]["tlb"])'
json_is out 'd["profile"]["first_touch_ns"][0]["value"]["source"] == "measured"'
json_is out 'd["profile"]["read_first_ns"]["source"] == "measured" and d["profile"]["read_first_ns"]["value"] > 0'
json_is out 'd["profile"]["frequency_hz"] > 1e8'
# How fragmented the memory was during the measurement of walks; printed if a hypervisor makes that
# relevant.
json_is out '(d["free_bytes_in_pieces"] is None) != open("/proc/buddyinfo").read().startswith("Node")'
scattered=$(python3 -c 'import json; d = json.load(open("out")); print(int(d["profile"]["hypervisor"] and (d["free_bytes_in_pieces"] or 0) >= 512 << 20))')
[ "$(grep -c 'lay in pieces smaller than a superpage' err)" = "$scattered" ] || fail "pieces: $(cat err)"
# A number that a hypervisor hides is not reported as measured.
json_is out 'd["profile"]["backing_page_bytes"]["value"] != 4096 or all(t["entries"]["source"] != "measured" for t in d["profile"]["tlb"] if t["level"] == 2 and 2097152 in t["page_bytes"])'
[ "$(find home -type f | wc -l)" = 1 ] || fail "more than the profile was left: $(find home -type f)"
expect_status 0 "$SMALLOC" machine show stored
expect_match out 'first touch, 4 KiB .*measured'
# The plugin uses the profile if it is named.
if [ -e "$PLUGIN" ] && command -v "$CLANG" >/dev/null; then
  echo '#include <stdlib.h>
void *make(void) { return malloc(100); }' >unit.c
  "$CLANG" -O1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-machine=home/.config/smalloc/machine.json -c unit.c 2>err ||
    fail "the plugin rejects the profile: $(cat err)"
fi
expect_status 0 "$SMALLOC" calibrate --quick --check --json
json_is out 'd["written_to"] is None and d["totals"]["compared"] == len(d["differences"]) > 3'

# A profile of another machine is reported as different, and stays unchanged.
python3 - <<'PY'
import json
p = json.load(open("home/.config/smalloc/machine.json"))
p["first_touch_ns"][0]["value"]["value"] *= 1000
json.dump(p, open("other.json", "w"))
PY
cp other.json before.json
expect_error 3 'threshold crossed' "$SMALLOC" calibrate --quick --check --profile other.json --fail-if 'totals.significant > 0'
cmp other.json before.json || fail "--check wrote"

# A folder that cannot be written is reported at once, and no file is left.
touch file
expect_error 1 'cannot store the machine profile .*file/machine.json' "$SMALLOC" calibrate --quick --profile file/machine.json
expect_match err '^hint: '
mkdir full
expect_error 1 'cannot store the machine profile \(full\): is a directory' "$SMALLOC" calibrate --quick --profile full
[ -z "$(ls full)" ] || fail "something was left behind"
# A read-only HOME: root must become another user for this check.
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
mkdir -p sealed
chmod 711 . && chmod 555 sealed
if "${user[@]}" test -x "$SMALLOC" 2>/dev/null; then
  HOME=$tmp/sealed expect_error 1 'cannot store the machine profile .*sealed/.config/smalloc/machine.json\): permission denied' "${user[@]}" "$SMALLOC" calibrate --quick
  [ -z "$(ls -A sealed)" ] || fail "something was left behind"
  # Reading works without write permission; without privileges doctor and machine still work.
  HOME=$tmp/sealed expect_status 0 "${user[@]}" "$SMALLOC" machine show
  HOME=$tmp/sealed expect_status 0 "${user[@]}" "$SMALLOC" doctor
fi
HOME='' expect_error 1 'HOME' "$SMALLOC" calibrate --quick
expect_error 2 'cannot understand' "$SMALLOC" calibrate --tlbmiss-cost --quick

# The output of libhugetlbfs' former script: four lines, and traces with -v.
status=0
"$SMALLOC" calibrate --tlbmiss-cost -v >out 2>err || status=$?
expect_match err '^TRACE: Beginning TLB measurement using the PMU'
if grep -q '^TRACE: Not counted' err; then
  expect_match err '^TRACE: Starting Working Set Size \(WSS\): 13631488 bytes'
fi
if [ $status = 0 ]; then
  [ "$(wc -l <out)" = 4 ] || fail "not four lines"
  for name in TLB_MISS_LATENCY_TIME TLB_MISS_LATENCY_CYCLES TLB_MISSES_COST_ONE_SECOND TLB_MISS_COST; do
    expect_match out "^$name=[0-9.]+$"
  done
else
  expect_match err '^smalloc: error: no steady TLB miss latency'
fi
