#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/evaluate.py compares a predicted ranking with an exact simulation of every mapping. A
# table that is read at random is best in both.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v llvm-symbolizer-22 >/dev/null || skip "no llvm-symbolizer-22"
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/evaluate.py" --build "$SMALLOC_BUILD" --clang "$CLANG" -p hash_probe -p vector_gather --json r.json
expect_match out '^\| hash_probe \| [0-9]+ \| [0-9.]+ % \| [0-9.]+ % \| yes \| [0-9.]+ \|$'
json_is r.json 'd["schema"] == "smalloc.evaluation/2" and d["programs"][0]["same"]["error_percent"] <= 10'
json_is r.json 'any(name.startswith("main:") and saved > 0 for name, saved in d["programs"][0]["truth"]["saved"].items())'
json_is r.json 'len(d["programs"][0]["others"]) >= 1 and d["programs"][0]["same"]["best_saves_ms"] >= 1'
# With one mapping the ranking is always right, with two it may be wrong.
expect_match out '^\| vector_gather \| [2-9] \| '
json_is r.json 'd["programs"][1]["same"]["mappings"] >= 2 and d["programs"][1]["same"]["error_percent"] <= 10 and d["programs"][1]["same"]["same_best"]'
json_is r.json 'all(0.9 <= p["same"]["saved_ratio"] <= 1.1 for p in d["programs"])'
# A value that the exact simulation does not have has no price.
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "a calibrated profile is taken"
import sys
sys.path.insert(0, sys.argv[1])
import evaluate
try:
    evaluate.Costs({"name": "m", "frequency_hz": 1e9, "overlapped_walk_cost": [{}], "tlb": []})
except SystemExit:
    sys.exit(0)
sys.exit(1)
PY
# A ranking without a noticeable saving does not count; a missing program is reported.
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "compare"
import sys
sys.path.insert(0, sys.argv[1])
import evaluate
guess = {"saved": {"a": 9e6, "b": 3e6}}
assert evaluate.compare(guess, {"saved": {"a": 8e6, "b": 8e6}}, 3e9)["error_percent"] > 30
small = evaluate.compare(guess, {"saved": {"a": 2e6, "b": 2e6}}, 3e9)
assert small["error_percent"] is None and abs(small["best_saves_ms"] - 2 / 3) < 1e-6, small
PY
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/evaluate.py" --build "$SMALLOC_BUILD" -p nosuch
expect_match err 'evaluate.py: error: nosuch: no such program'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/evaluate.py" --build /nowhere
expect_match err '^hint: cmake --build build'
