#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/evaluate.py holds a predicted ranking against an exact simulation of every mapping; a table that is read at random is
# best in both.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v llvm-symbolizer-22 >/dev/null || skip "no llvm-symbolizer-22"
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/evaluate.py" --build "$SMALLOC_BUILD" --clang "$CLANG" -p hash_probe --json r.json
expect_match out '^\| hash_probe \| [0-9]+ \| [0-9.]+ % \| [0-9.]+ % \| yes \| [0-9.]+ \|$'
json_is r.json 'd["schema"] == "smalloc.evaluation/1" and d["programs"][0]["same"]["error_percent"] <= 10'
json_is r.json 'any(name.startswith("main:") and saved > 0 for name, saved in d["programs"][0]["truth"]["saved"].items())'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/evaluate.py" --build /nowhere
expect_match err '^hint: cmake --build build'
