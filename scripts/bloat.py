#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bloat.py measures the memory cost of superpages where they do not pay: the programs of
benchmarks/bloat under glibc, jemalloc, mimalloc and tcmalloc, with and without their superpage
options, and under smalloc. It compares resident memory at each program's end and at its peak, which
are counts, not times. Every allocator must give the same checksum.

The rule for smalloc: at most 5.25 MiB and max(2 %, 512 KiB) above glibc on base pages, at the end
and at the peak. For temporaries only the peak counts. At its end nothing is live, and resident
memory is what an allocator keeps for the next step: smalloc up to cache:, glibc up to its trim
threshold.

  bloat.py                       all programs; a table on standard output
  bloat.py --quick -p coroutines small sizes, one program
  bloat.py --check               exit 1 where the rule is broken
  bloat.py --record              write benchmarks/results/bloat.json and docs/evidence/memory.md's tables; with -p and -c, the other
                                 programs' and configurations' results stay as they were recorded
  bloat.py --docs [--check]      only docs/evidence/memory.md, from the recorded results (--check: exit 1 when it differs)
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench  # noqa: E402  (the folder of this script is not a package)
import bench_runs  # noqa: E402
import result_rows  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "bloat.json"
PAGE = ROOT / "docs" / "evidence" / "memory.md"
MIB = 1 << 20
LEAST_ALLOWED_BYTES = 512 << 10
# Once a process: the heap of small objects takes 1.3 MiB. Its last superpage, and that of the heap
# that joins neighbours, are partly filled.
HEAP_BYTES = int(5.25 * MIB)
ALLOWED_SHARE = 0.02

# name -> (full arguments, quick arguments)
PROGRAMS = {
    "sparse_table": (["1024", "5"], ["256", "1"]),
    "random_free": (["1000"], ["100"]),
    "coroutines": (["20000", "256", "40"], ["3000", "32", "2"]),
    "connections": (["30000", "50"], ["12000", "20"]),
    "temporaries": (["24", "12"], ["16", "6"]),
    "churn": (["256", "3"], ["32", "1"]),
    "replacement": (["256", "8"], ["160", "5"]),
    "threads": (["8", "200", "12"], ["8", "120", "10"]),
    "alternating": (["600", "12"], ["300", "14"]),
    "turns": (["600", "10"], ["300", "10"]),
    "strings": (["100", "20"], ["400", "8", "60"]),
    "vectors": (["500", "6"], ["500", "6"]),
}
# Programs that free objects: the share of their memory without a live byte is shown as well.
FRAGMENTING = ["random_free", "churn", "replacement", "threads", "alternating", "turns", "strings",
               "vectors"]


def configurations(build):
    """Returns name -> (title, build variant, environment); peers only if installed."""
    tcmalloc = bench.find_library(r"libtcmalloc_minimal\.so\.4")
    mimalloc = bench.find_library(r"libmimalloc\.so\.[23]")
    preload = str(build / "lib" / "libsmalloc.so")
    table = {k: v for k, v in bench.configurations(build).items()
             if k in ("base", "thp", "jemalloc", "jemalloc-thp", "mimalloc", "ours")}
    table["mimalloc-large"] = ("mimalloc, large pages", "plain",
                               {"LD_PRELOAD": mimalloc, "MIMALLOC_LARGE_OS_PAGES": "1"})
    table["tcmalloc"] = ("tcmalloc", "plain", {"LD_PRELOAD": tcmalloc})
    table["ours-superpage"] = ("smalloc, all on superpages", "plain",
                               {"LD_PRELOAD": preload, "SMALLOC_CONF": "heap:superpage"})
    order = ["base", "thp", "jemalloc", "jemalloc-thp", "mimalloc", "mimalloc-large", "tcmalloc", "ours",
             "ours-superpage"]
    return {k: table[k] for k in order if k in table and None not in table[k][2].values()}


def build_program(name, variant, build, work):
    source = next((ROOT / "benchmarks" / "bloat").glob(f"{name}.c*"))
    return bench.compile_program({"name": name, "source": f"bloat/{source.name}"}, variant, build, work)[0]


def run(command, environment, timeout):
    """Returns the numbers of a program's last line."""
    clean = {k: v for k, v in os.environ.items()
             if k not in ("LD_PRELOAD", "SMALLOC_CONF", "GLIBC_TUNABLES", "MALLOC_CONF")}
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=timeout,
                          check=False)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: status {done.returncode}: {done.stderr.strip()[-500:]}")
    fields = dict(re.findall(r"(\w+)=(\w+)", done.stdout.strip().splitlines()[-1]))
    return {k: v if k == "checksum" else int(v) for k, v in fields.items()}


def measured_bytes(name, result):
    """Returns the memory in the table: at the end, or at the peak if everything is freed at each
    step."""
    return result["peak_bytes" if name == "temporaries" else "resident_bytes"]


def own_bytes(when, result):
    """Returns the memory that the rule limits: without code from files, which all processes share.
    How much of that is resident depends on the page cache around a fault and differs by 100 KiB
    between runs of one program."""
    return result[when] - result.get("file_bytes", 0)


def measure(name, arguments, table, options, work):
    results = {}
    for key, (_, variant, environment) in table.items():
        command = [build_program(name, variant, options.build, work), *arguments]
        # glibc 2.36 ignores its tunable in some runs. A run without superpages is repeated.
        for _ in range(bench_runs.ATTEMPTS if key == "thp" else 1):
            result = run(command, environment, options.timeout)
            if result["superpage_bytes"]:
                break
        bench.note(f"{name} {key}: {result['resident_bytes'] / MIB:.1f} MiB")
        results[key] = result
    sums = {r["checksum"] for r in results.values()}
    if len(sums) != 1:
        raise RuntimeError(f"{name}: the allocators do not agree on the result: {sums}")
    return results


def broken_rule(programs):
    """Returns the programs that break the rule, each with the excess."""
    broken = []
    for program in programs:
        for when, what in (("resident_bytes", "at its end"), ("peak_bytes", "at its peak")):
            if program["name"] == "temporaries" and when == "resident_bytes":
                continue
            base, ours = (own_bytes(when, program["results"][k]) for k in ("base", "ours"))
            if ours > base + HEAP_BYTES + max(int(base * ALLOWED_SHARE), LEAST_ALLOWED_BYTES):
                broken.append(f"{program['name']} (+{mib(ours - base)} MiB {what})")
    return broken


def mib(value):
    return f"{value / MIB:.0f}" if value >= 100 * MIB else f"{value / MIB:.1f}"


def tables(report):
    titles = report["configurations"]
    lines = ["| program | live | " + " | ".join(titles.values()) + " |", "|" + "---|" * (len(titles) + 2)]
    for program in report["programs"]:
        results = program["results"]
        cells = [mib(measured_bytes(program["name"], results[k])) +
                 (f" ({mib(results[k]['superpage_bytes'])})" if results[k]["superpage_bytes"] else "")
                 for k in titles if k in results]
        lines.append(f"| {program['name']} | {mib(program['live_bytes'])} | " + " | ".join(cells) + " |")
    broken = broken_rule(report["programs"])
    lines += ["", "MiB resident at the end (`temporaries`: at most); in brackets, on superpages at the end. "
              f"Linux {report['kernel']}, transparent huge pages `{report['thp']}`. Made by `scripts/bloat.py --record`.",
              "", "The rule (at most 5.25 MiB and max(2 %, 512 KiB) above glibc on base pages, code from files aside) " +
              ("holds for smalloc in every program, at its end (but for `temporaries`, see below) and at its peak." if not broken else "is broken by: " + ", ".join(broken) + ".")]
    return "\n".join(lines)


def unused(used_bytes, result):
    return f"{100 - 100 * min(used_bytes / result['resident_bytes'], 1):.0f}"


def fragmentation_table(report):
    """Returns the table of resident memory without a live byte, with the program's own code and
    data, and of pages without a live byte, which could go without moving an object."""
    titles = report["configurations"]
    lines = ["| program | live | " + " | ".join(titles.values()) + " |", "|" + "---|" * (len(titles) + 2)]
    for program in report["programs"]:
        if program["name"] not in FRAGMENTING:
            continue
        live = program["live_bytes"]
        cells = []
        for r in (program["results"][k] for k in titles if k in program["results"]):
            empty = f" ({unused(r['live_page_bytes'], r)} %)" if r.get("live_page_bytes") else ""
            cells.append(f"{unused(live, r)} %{empty}")
        lines.append(f"| {program['name']} | {mib(live)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def peak_table(report):
    """Returns the table of peak resident memory, of the programs that free objects."""
    keys = [k for k in report["configurations"] if k in ("base", "jemalloc", "ours")]
    lines = ["| program | " + " | ".join(report["configurations"][k] for k in keys) + " | smalloc / glibc |",
             "|" + "---|" * (len(keys) + 2)]
    for program in report["programs"]:
        peak = {k: program["results"][k]["peak_bytes"] for k in keys if k in program["results"]}
        if program["name"] in FRAGMENTING and len(peak) == len(keys):
            lines.append(f"| {program['name']} | " + " | ".join(mib(peak[k]) for k in keys) +
                         f" | {peak['ours'] / peak['base']:.2f} |")
    return "\n".join(lines)


def write_docs(report, check):
    page = wanted = PAGE.read_text(encoding="utf-8")
    for name, text in (("bloat", tables(report)), ("fragmentation", fragmentation_table(report)),
                       ("peaks", peak_table(report))):
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise RuntimeError(f"{PAGE}: needs {begin} and {end} once each")
        wanted = wanted.split(begin)[0] + f"{begin}\n{text}\n{end}" + wanted.split(end)[1]
    if wanted == page:
        return True
    if check:
        print(f"bloat.py: error: {PAGE}: differs from {RESULTS}\nhint: scripts/bloat.py --docs", file=sys.stderr)
        return False
    PAGE.write_text(wanted, encoding="utf-8")
    return True


def with_recorded(report):
    """Returns all programs and configurations: those just measured, and the others from the results
    file."""
    if not RESULTS.exists():
        return report
    recorded = json.loads(RESULTS.read_text(encoding="utf-8"))
    known = {p["name"]: p for p in recorded["programs"]}
    for program in report["programs"]:
        results = {**known.get(program["name"], {}).get("results", {}), **program["results"]}
        known[program["name"]] = {**program, "results": results}
    return {**report, "configurations": {**recorded["configurations"], **report["configurations"]},
            "programs": [known[name] for name in PROGRAMS if name in known]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("-p", "--programs", default=",".join(PROGRAMS))
    parser.add_argument("-c", "--configurations", help="default: all that are installed")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    unknown = [p for p in options.programs.split(",") if p not in PROGRAMS]
    if unknown:
        print(f"bloat.py: error: program ({unknown[0]}): unknown\nhint: one of {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    try:
        if options.docs:
            return 0 if write_docs(json.loads(RESULTS.read_text(encoding="utf-8")), options.check) else 1
        table = configurations(options.build)
        if options.configurations:
            wanted = options.configurations.split(",")
            missing = [c for c in wanted if c not in table]
            if missing:
                print(f"bloat.py: error: configuration ({missing[0]}): unknown or not installed\n"
                      f"hint: one of {', '.join(table)}", file=sys.stderr)
                return 2
            table = {k: v for k, v in table.items() if k in wanted}
        programs = []
        with tempfile.TemporaryDirectory(prefix="smalloc-bloat.") as work:
            for name in options.programs.split(","):
                results = measure(name, PROGRAMS[name][1 if options.quick else 0], table, options, Path(work))
                programs.append({"name": name, "live_bytes": next(iter(results.values()))["live_bytes"],
                                 "results": results})
        report = {"schema": "smalloc.bloat/1", "kernel": os.uname().release,
                  "thp": (re.findall(r"\[(\w+)\]", Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text())
                          or ["absent"])[0] if Path("/sys/kernel/mm/transparent_hugepage/enabled").exists() else "absent",
                  "configurations": {k: v[0] for k, v in table.items()}, "programs": programs}
        if "base" in table and "ours" in table:
            print(tables(report), fragmentation_table(report), sep="\n\n")
        if options.record:
            report = with_recorded(report)
            RESULTS.write_text(result_rows.rows(report) + "\n", encoding="utf-8")
            write_docs(report, False)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        print(f"bloat.py: error: {error}", file=sys.stderr)
        return 1
    if options.check:
        broken = broken_rule(programs)
        if broken:
            print(f"bloat.py: error: more than 5.25 MiB and max(2 %, 512 KiB) above glibc on base pages, code from files aside: {', '.join(broken)}",
                  file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
