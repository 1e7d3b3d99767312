#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""defaults.py measures the defaults of cache:, promote: and demote:. Each value runs with the
programs that it affects, interleaved, and the table shows its time and memory.

  defaults.py                     all keys; a table on standard output
  defaults.py -k cache --runs 5   one key
  defaults.py --quick             small sizes, one run: does it work?
  defaults.py --json FILE         the numbers, too
  defaults.py --record            keep them in benchmarks/results/defaults.json and docs/evidence/defaults.md; with -k, the other keys'
                                  stay as they were recorded
  defaults.py --docs [--check]    only docs/evidence/defaults.md, from the recorded results (--check: exit 1 when it differs)
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench  # noqa: E402
import bench_runs  # noqa: E402
import bench_table  # noqa: E402
import bloat  # noqa: E402
import result_rows  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "defaults.json"
PAGE = ROOT / "docs" / "evidence" / "defaults.md"
WARM_BYTES = 3 << 29  # half as much again as the peak of the largest program
COLD_SECONDS = 10  # a guest reports free memory to its host after two
BEGIN, END = "<!-- defaults:begin -->", "<!-- defaults:end -->"

# key -> (default, other values, programs: source, arguments, quick arguments, memory: unprepared,
# or "cold")
KEYS = {
    "cache": ("64m", ["0", "16m", "256m"], [("bloat/temporaries.c", ["24", "40"], ["8", "4"])]),
    "populate": ("auto", ["always"], [("kernels/colsum.c", ["60000"], ["9000"]),
                                   ("kernels/colsum.c", ["60000"], ["9000"], "cold")]),
    "promote": ("auto", ["off", "eager"], [("kernels/gups.c", ["26"], ["22"]),
                                           ("bloat/coroutines.c", ["20000", "256", "100"], ["3000", "32", "2"])]),
    "demote": ("10%", ["off", "5%", "20%", "50%"], [("bloat/random_free.c", ["400"], ["100"])]),
}


def resident_at_end(command, environment):
    """Returns the resident memory at the end, which programs of the bloat suite print themselves."""
    return bloat.run(command, environment, 300)["resident_bytes"]


def measure(options, work):
    report = {"schema": "smalloc.defaults/1", "kernel": os.uname().release, "keys": []}
    for key in options.keys.split(","):
        default, others, programs = KEYS[key]
        for source, full, quick, *cold in programs:
            name = Path(source).stem
            command = bench.compile_program({"name": name, "source": source}, "ours", options.build, work)
            command += quick if options.quick else full
            values = [default, *others]
            runs = {v: [] for v in values}
            for _ in range(options.runs):
                for value in values:
                    if not cold:
                        bench_runs.warm(WARM_BYTES)
                    elif not options.quick:
                        time.sleep(COLD_SECONDS)
                    runs[value].append(bench_runs.run_once(command, {"SMALLOC_CONF": f"{key}:{value}"}, None))
            if name in bloat.PROGRAMS:
                for value in values:
                    runs[value][0]["resident_bytes"] = resident_at_end(command, {"SMALLOC_CONF": f"{key}:{value}"})
            rows = []
            for value in values:
                user = [r["user_seconds"] for r in runs[value]]
                rows.append({"value": value, "user_seconds": statistics.median(user), "user_spread": bench_table.spread(user),
                             "system_seconds": min(r["system_seconds"] for r in runs[value]),
                             "peak_bytes": int(statistics.median(r["peak_rss_bytes"] for r in runs[value])),
                             "resident_bytes": runs[value][0].get("resident_bytes"),
                             "superpages": max(r["superpages"] for r in runs[value])})
                bench.note(f"{key}:{value} {name}: {rows[-1]['user_seconds']:.2f} + {rows[-1]['system_seconds']:.2f} s")
            report["keys"].append({"key": key, "default": default, "program": ", ".join([name, *cold]), "rows": rows})
    return report


def table(report):
    lines = ["| setting | program | user s | least system s | MiB at most | MiB at the end | superpages |", "|" + "---|" * 7]
    for entry in report["keys"]:
        for row in entry["rows"]:
            mark = "**" if row["value"] == entry["default"] else ""
            end = bloat.mib(row["resident_bytes"]) if row["resident_bytes"] else ""
            lines.append(f"| {mark}`{entry['key']}:{row['value']}`{mark} | {entry['program']} | "
                         f"{row['user_seconds']:.2f} ±{100 * row['user_spread']:.0f} % | {row['system_seconds']:.2f} | "
                         f"{bloat.mib(row['peak_bytes'])} | {end} | {row['superpages']} |")
    lines += ["", f"Median user time and its spread, least system time; the default in bold. Linux {report['kernel']}."]
    return "\n".join(lines)


def with_recorded(report):
    """Returns the new measurements, and the other keys' from the results file, in order."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["keys"] if RESULTS.exists() else []
    measured = {entry["key"] for entry in report["keys"]}
    entries = report["keys"] + [entry for entry in known if entry["key"] not in measured]
    return {**report, "keys": sorted(entries, key=lambda entry: list(KEYS).index(entry["key"]))}


def write_docs(report, check):
    page = PAGE.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise RuntimeError(f"{PAGE}: needs {BEGIN} and {END} once each")
    wanted = page.split(BEGIN)[0] + f"{BEGIN}\n{table(report)}\n{END}" + page.split(END)[1]
    if wanted != page and check:
        print(f"defaults.py: error: {PAGE}: differs from {RESULTS}\nhint: scripts/defaults.py --docs", file=sys.stderr)
        return False
    if wanted != page:
        PAGE.write_text(wanted, encoding="utf-8")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("-k", "--keys", default=",".join(KEYS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    unknown = [k for k in options.keys.split(",") if k not in KEYS]
    if unknown:
        print(f"defaults.py: error: key ({unknown[0]}): unknown\nhint: one of {', '.join(KEYS)}", file=sys.stderr)
        return 2
    if options.quick:
        options.runs = 1
    try:
        if options.docs:
            return 0 if write_docs(json.loads(RESULTS.read_text(encoding="utf-8")), options.check) else 1
        with tempfile.TemporaryDirectory(prefix="smalloc-defaults.") as work:
            report = measure(options, Path(work))
        print(table(report))
        if options.record:
            report = with_recorded(report)
            RESULTS.write_text(result_rows.rows(report) + "\n", encoding="utf-8")
            write_docs(report, False)
        if options.json:
            options.json.write_text(result_rows.rows(report) + "\n", encoding="utf-8")
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        print(f"defaults.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
