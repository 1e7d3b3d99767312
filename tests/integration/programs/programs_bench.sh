#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The measuring harness parses its arguments, refuses unknown names with status 2, writes JSON, and
# never reports noise as a difference.
. "$(dirname "$0")/../support/lib.sh"
bench=$SMALLOC_SOURCE/scripts/bench.py
expect_status 0 python3 "$bench" --list
expect_match out '^mixed +mixed/mixed.c'
expect_status 2 python3 "$bench" -p no-such-program
expect_status 2 python3 "$bench" -c no-such-configuration -p gups
expect_status 2 bash "$SMALLOC_SOURCE/scripts/demo" --no-such-option
expect_status 0 bash "$SMALLOC_SOURCE/scripts/demo" --help
expect_match out '^usage: scripts/demo'
for script in "$SMALLOC_SOURCE"/benchmarks/real/*.sh; do
  case $script in */lib.sh | */redis-session.sh) continue ;; esac
  expect_status 2 bash "$script" no-such-verb
  expect_status 0 bash "$script" --help
done
cat >suite.json <<'JSON'
{"programs": [{"name": "small", "source": "kernels/transpose.c", "args": ["60", "50"], "expect": "none"}]}
JSON
expect_status 0 python3 "$bench" --suite suite.json -c base -n 2 --work work --json r.json
python3 -c 'import json; r = json.load(open("r.json")); assert r["schema"] == "smalloc.bench/1"; s = r["programs"][0]["results"]["base"]; assert s["runs"] == 2 and s["peak_rss_bytes"] > 0'
# Each round runs all programs, so that a deadline removes rounds and no program; the first round
# always runs.
cat >suite.json <<'JSON'
{"programs": [{"name": "one", "source": "kernels/transpose.c", "args": ["60", "50"], "demo_args": ["50", "20"], "demo": true, "expect": "none"},
 {"name": "two", "source": "kernels/transpose.c", "args": ["60", "50"], "demo": true, "expect": "none"}]}
JSON
expect_status 0 python3 "$bench" --suite suite.json -p demo -c base -n 4 --deadline 0.001 --work work --json r.json
expect_match err '^out of time after 1 of 4 rounds$'
python3 -c 'import json; r = json.load(open("r.json")); assert [(p["name"], p["results"]["base"]["runs"]) for p in r["programs"]] == [("one", 1), ("two", 1)]'
python3 -c 'import json; r = json.load(open("r.json")); a, b = [p["runs"]["base"][0]["output_sha256"] for p in r["programs"]]; assert a != b' ||
  fail "the demonstration's own arguments were not used"
# A run that should have superpages and has none is ended early and does not count.
cd "$SMALLOC_SOURCE/scripts"
[ "$(thp_mode)" = always ] || PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY'
import sys, bench_runs
grow = [sys.executable, "-c", "import time; b = bytearray(200 << 20); time.sleep(9)"]
assert bench_runs.run_once(grow, {}, None, 0, True) is None
PY
PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY'
import bench_table
steady = {"runs": 3, "total_seconds": 1.0, "total_spread": 0.01}
assert bench_table.compare(steady, {**steady, "total_seconds": 0.8, "total_spread": 0.02}, "total") == (1.25, True)
assert bench_table.compare(steady, {**steady, "total_seconds": 0.8, "total_spread": 0.3}, "total") == (1.25, False)
assert bench_table.compare(steady, {**steady, "total_seconds": 0.998, "total_spread": 0}, "total")[1] is False
# One round gives no spread.
import contextlib, io
run = {"user_seconds": 1.0, "system_seconds": 0.5, "peak_rss_bytes": 1 << 20, "superpages": 1, "minor_faults": 1, "in_effect": True}
for runs, shown in (1, ("1.62?", "1 run of each: no difference is claimed")), (2, ("1.62?", "2 runs of each: no difference is claimed")), (3, ("1.62x", "")):
    results = {"base": bench_table.summarise([{**run, "user_seconds": 1.93}] * runs), "ours": bench_table.summarise([run] * runs)}
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        bench_table.print_program("p", results, {"base": "glibc", "ours": "smalloc"})
        bench_table.print_verdict(bench_table.verdict(results, []))
    assert all(words in text.getvalue() for words in shown) and (" 0.0%" in text.getvalue()) == (runs == 3), text.getvalue()
    assert f" {runs} " in text.getvalue().splitlines()[3] and "runs" in text.getvalue().splitlines()[2], text.getvalue()
assert bench_table.spread([1.0, 1.0, 1.2]) > 0.19 and bench_table.spread([5.0]) == 0
PY
# A table of a page comes only from the results.
cd "$tmp"
python3 - <<'PY'
import json
s = {"total_seconds": 2.0, "total_spread": 0.01, "user_seconds": 1.2, "user_spread": 0.3, "peak_rss_bytes": 2 << 20, "in_effect": True, "runs": 3}
json.dump({"configurations": {"base": "glibc", "ours": "smalloc"}, "machine": {"cpus": 2, "cpu": "X", "hypervisor": True, "kernel": "6"},
           "programs": [{"name": "p", "results": {"base": s, "ours": {**s, "total_seconds": 1.0}}}]}, open("d.json", "w"))
PY
printf 'a\n<!-- programs:begin -->\nold\n<!-- programs:end -->\nb\n' >R.md
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/regen_docs.py" --check --section programs --results d.json --page R.md
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/regen_docs.py" --section programs --results d.json --page R.md
expect_match R.md '^\| p \| 2.00 s, 2 MiB \| 2.00x \(user same\), 2 MiB \|$'
expect_status 0 python3 "$SMALLOC_SOURCE/scripts/regen_docs.py" --check --section programs --results d.json --page R.md
# The name of a group stands for its programs.
expect_status 0 python3 "$bench" -p throughput -c base,preload -n 1 --quick --no-warm --work "$tmp/tp" --json t.json
python3 - <<'PY'
import json
measured = json.load(open("t.json"))["programs"]
assert len(measured) == 10 and all(set(p["results"]) == {"base", "preload"} for p in measured)
PY
