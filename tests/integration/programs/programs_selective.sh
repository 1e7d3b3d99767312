#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/selective.py: under a budget smalloc analyze chooses the table that is read in random
# order. The program runs with it and stays within the budget.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" --clang "$CLANG" --machine zen3 --quick \
  -p hash_join --json r.json
expect_match out '^\| hash_join \|'
json_is r.json 'd["schema"] == "smalloc.selective/4" and len(d["programs"]) == 1'
json_is r.json 'all(p[way]["user_seconds"] >= 0 for p in d["programs"] for way in ("base", "all", "selective"))'
json_is r.json 'all(p["selective"]["superpages"] * (2 << 20) <= p["budget_bytes"] for p in d["programs"])'
json_is r.json 'all(p["counted"]["base"]["cycles"] >= p["counted"]["selective"]["cycles"] > 0 for p in d["programs"])'
json_is r.json 'all(p["counted"]["all"]["super_misses"] > 0 == p["counted"]["all"]["base_misses"] for p in d["programs"])'
# The counts of one pass and of two passes give the count of all.
"$CLANG" -O2 -fno-omit-frame-pointer -c "$SMALLOC_SOURCE/benchmarks/evaluation/exact_mappings.c" -o exact.o
"$CLANG" -O2 -g -fno-omit-frame-pointer -fsanitize-coverage=func,trace-loads,trace-stores \
  "$SMALLOC_SOURCE/benchmarks/selective/hash_join.c" exact.o -o exact
site=$(./exact 10 1 1 2>&1 >/dev/null | tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["sites"][0]["caller"])')
for passes in 1 2 5; do SITES=$site TLB=1536,12,1536,12,1 ./exact 18 2 $passes 2>&1 >/dev/null | tail -n 1 >passes.$passes; done
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "five passes are not what one and two tell"
import json
import sys
sys.path.insert(0, sys.argv[1])
import selective
def counts(passes):
    with open(f"passes.{passes}", encoding="utf-8") as file:
        return {"base": {key: value for key, value in json.load(file)["lanes"][0].items() if not isinstance(value, list)}}
told, all_five = selective.extrapolated(counts(1), counts(2), 5)["base"], counts(5)["base"]
assert counts(2)["base"]["base_misses"] > counts(1)["base"]["base_misses"] > 0 < all_five["base_pages"] == told["base_pages"], all_five
assert abs(told["base_misses"] - all_five["base_misses"]) <= 0.01 * all_five["base_misses"], (told, all_five)
PY
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build /nowhere
expect_match err '^hint: cmake --build build'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" -p nosuch
expect_match err 'no such program'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" --clang "$CLANG" --count --times
expect_match err '^selective.py: error: --count: nothing is left to be made'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" --clang "$CLANG" --times --quick
expect_match err '^selective.py: error: --times: --quick has no recording'
