#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""regen_docs.py decides what README.md says about speed and memory: the lines between `<!-- demo:begin -->` and
`<!-- demo:end -->` are made from benchmarks/results/demo.json, which only a real run of `scripts/demo --record` writes.

  regen_docs.py            rewrite the table
  regen_docs.py --check    exit 1 when the README says something else than the results
"""
import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"


def ratio(base, result, kind):
    """'1.12x', or 'same' when the difference is below the spread of the runs."""
    value = base[f"{kind}_seconds"] / result[f"{kind}_seconds"]
    clear = abs(value - 1) > max(base[f"{kind}_spread"], result[f"{kind}_spread"], 0.005)
    return f"{value:.2f}x" if clear else "same"


def cell(base, result):
    """'1.12x (user 1.20x), 964 MiB'."""
    speed = f"{ratio(base, result, 'total')} (user {ratio(base, result, 'user')})"
    note = "" if result["in_effect"] else " (no superpage got)"
    return f"{speed}, {result['peak_rss_bytes'] / 2**20:.0f} MiB{note}"


def table(report):
    names = report["configurations"]
    lines = ["| program | " + " | ".join(names.values()) + " |", "|" + "---|" * (len(names) + 1)]
    fewest = None
    for program in report["programs"]:
        results = program["results"]
        base = results["base"]
        fewest = min(r["runs"] for r in results.values()) if fewest is None else min(
            fewest, *(r["runs"] for r in results.values()))
        cells = []
        for key in names:
            if key not in results:
                cells.append("-")
            elif key == "base":
                cells.append(f"{base['total_seconds']:.2f} s, {base['peak_rss_bytes'] / 2**20:.0f} MiB")
            else:
                cells.append(cell(base, results[key]))
        lines.append(f"| {program['name']} | " + " | ".join(cells) + " |")
    host = report["machine"]
    where = f"{host['cpus']} CPUs of a {host['cpu']}" + (" (virtual machine)" if host["hypervisor"] else "")
    lines += ["", f"Speed against base pages and peak memory; median user + least system time of at least {fewest} "
              f"interleaved runs (in brackets: user time alone, where the walks show); \"same\": the difference is below "
              f"the spread. {where}, Linux {host['kernel']}. "
              "Made by `scripts/demo --record`."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "demo.json")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    try:
        report = json.loads(options.results.read_text(encoding="utf-8"))
        readme = options.readme.read_text(encoding="utf-8")
    except OSError as error:
        print(f"regen_docs.py: error: {error}\nhint: scripts/demo --record", file=sys.stderr)
        return 1
    if readme.count(BEGIN) != 1 or readme.count(END) != 1 or readme.index(BEGIN) > readme.index(END):
        print(f"regen_docs.py: error: {options.readme}: needs {BEGIN} and {END} once each", file=sys.stderr)
        return 1
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    wanted = f"{before}{BEGIN}\n{table(report)}\n{END}{after}"
    if wanted == readme:
        return 0
    if options.check:
        print(f"regen_docs.py: error: {options.readme}: the measured table differs from {options.results}\n"
              "hint: scripts/regen_docs.py", file=sys.stderr)
        return 1
    options.readme.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
