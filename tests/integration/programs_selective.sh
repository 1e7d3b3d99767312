#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/selective.py: what smalloc analyze chooses under a budget is the table that is read in no order, the program runs with it and
# stays within the budget.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" --clang "$CLANG" --machine zen3 --quick \
  -p hash_join --json r.json
expect_match out '^\| hash_join \|'
json_is r.json 'd["schema"] == "smalloc.selective/2" and len(d["programs"]) == 1'
json_is r.json 'all(p[way]["user_seconds"] > 0 for p in d["programs"] for way in ("base", "all", "selective"))'
json_is r.json 'all(p["selective"]["superpages"] * (2 << 20) <= p["budget_bytes"] for p in d["programs"])'
json_is r.json 'all(p["counted"]["base"]["cycles"] >= p["counted"]["selective"]["cycles"] > 0 for p in d["programs"])'
json_is r.json 'all(p["counted"]["all"]["super_misses"] > 0 == p["counted"]["all"]["base_misses"] for p in d["programs"])'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build /nowhere
expect_match err '^hint: cmake --build build'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/selective.py" --build "$SMALLOC_BUILD" -p nosuch
expect_match err 'no such program'
