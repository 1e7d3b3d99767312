#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/chosen_times.py records a program, chooses for it and runs it all five ways; what is predicted is the time of the
# same heaps on base pages less what was said to be saved, and a loss is one only beyond the spread of the runs. Which is fastest nobody asks here: that is a time.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
times=("$SMALLOC_SOURCE/scripts/chosen_times.py" --build "$SMALLOC_BUILD" --clang "$CLANG")
expect_status 0 python3 "${times[@]}" --machine zen3 --quick -p gups -p bodies --json r.json
expect_match out '^\| gups \|.*\| main:[0-9]+ \|$'
expect_match out '^\| bodies \|.*\| - \|$'
json_is r.json 'd["schema"] == "smalloc.chosen-times/6" and [p["name"] for p in d["programs"]] == ["gups", "bodies"]'
# User time may be none: the kernel gives a short run's ticks to one of the two.
json_is r.json 'all(p[way]["user_seconds"][0] + p[way]["system_seconds"][0] > 0 and p[way]["peak_rss_bytes"] > 0 for p in d["programs"] for way in ("base", "all", "profile", "unbacked", "off"))'
json_is r.json 'd["programs"][0]["saved_seconds"] > 0 == d["programs"][1]["saved_seconds"]'
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "error, loss"
import sys
sys.path.insert(0, sys.argv[1])
import chosen_times as c
def way(seconds, spread, second=1):  # the time is the least sum
    return {"user_seconds": [seconds - 1 + spread, seconds - 1, seconds - 1, seconds - 1, seconds - 1], "system_seconds": [3, 1, second, 1.5, 9]}
def result(base, profile, saved, spread, unbacked=2, second=1):
    return {"saved_seconds": saved, "base": way(base, spread), "profile": way(profile, spread, second), "unbacked": way(unbacked, spread),
            "off": way(2, spread), "saved_seconds_by": [saved, 9]}
times = {"base": {"user_seconds": [9, 4, 2, 8, 7], "system_seconds": [3, 1, 4, 2, 0]}}
assert c.seconds(times, "base") == 5
assert c.seconds(times, "base", "lower quartile of the sums") == 6 and c.seconds(times, "base", "median of the sums") == 7
assert c.seconds(times, "base", "lower quartile of the user + least system time") == 4
assert abs(c.error(result(2, 1.6, 0.5, 0)) - (1.5 / 1.6 - 1)) < 1e-9
assert abs(c.error(result(2, 1.6, 0.2, 0, 1.8))) < 1e-9  # what a denser heap saves is no page's
assert abs(c.learned_error({**result(2, 1.6, 0.5, 0), "realised_share": 0.8})) < 1e-9  # switched off, by what another input saved of the same calibration's promise
assert abs(c.learned({**result(1.7, 1.6, 0.5, 0, 3), "realised_share": 0.8}) - 1.6) < 1e-9  # neither the plain program nor our heap
assert c.learned({**result(2, 1.6, 0, 0), "realised_share": None}) == 2
assert c.loss(result(2, 2.1, 0, 0.2)) is None and c.loss(result(2, 1.5, 0, 0)) is None
assert abs(c.loss(result(2, 2.1, 0, 0.05)) - 0.05) < 1e-9
assert c.loss(result(2, 2.1, 0, 0.05, second=1.2)) is None  # nobody was left alone twice
def report(chosen, joint):
    return {"chosen": {"saved_cycles_joint": joint}, "mappings": [
        {"category": {"kind": "site", "id": name, "context": None}, "chosen": name in chosen, "saved_cycles": 3e9} for name in "ab"]}
old = {"schema": 6, "machine": "m", "host": {"cpu": "x"}, "runs": 5, "programs": [{"name": "a", "t": 1}, {"name": "b", "t": 1}]}
new = {**old, "programs": [{"name": "b", "t": 2}]}
assert [p["t"] for p in c.merged(old, new)["programs"]] == [1, 2]
try:
    c.merged(old, {**new, "runs": 3})
    raise AssertionError("runs of another number are put beside each other")
except SystemExit:
    pass
asked = c.chosen_by(report("a", 4e9))
assert c.saved_seconds(report("a", 4e9), 1e9, asked) == 4  # the choice's own figure
assert c.saved_seconds(report("ab", 4e9), 1e9, asked) == 3  # the other calibration chose more: what these are said to save
PY
expect_status 1 python3 "${times[@]}" -p nosuch
expect_match err '^chosen_times.py: error: nosuch: no such program'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/chosen_times.py" --build /nowhere
expect_match err '^hint: cmake --build build'
