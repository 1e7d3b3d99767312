#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""selective.py decides how much of the speed of all-superpages smalloc is said to keep with a few of them: programs with skewed
access are recorded with a small input, smalloc analyze chooses under a budget of 3 % of the large one's memory, and the large one runs on
base pages, on superpages for everything, and with the directives.

  selective.py                     a table
  selective.py --record            also benchmarks/results/selective.json, which scripts/regen_docs.py reads
  selective.py --quick             one short run each
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import bench  # pylint: disable=wrong-import-position

BUDGET_SHARE = 0.03
# Source, arguments, of --quick, of the recording: as large a hot part, fewer accesses to it.
PROGRAMS = [
    ("pagerank", ["23", "72", "8"], ["20", "8", "2"], ["23", "2", "2"]),
    ("hash_join", ["22", "280", "4"], ["18", "2", "1"], ["22", "8", "1"]),
]


def fail(what, why, hint):
    print(f"selective.py: error: {what}: {why}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def run(command, folder):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(" ".join(map(str, command)), done.stderr.strip() or done.returncode, "run it by hand")
    return done.stdout


def measure(name, arguments, recorded, options, tools, folder):
    source = ROOT / "benchmarks/selective" / f"{name}.c"
    plain, ours, told = folder / name, folder / f"{name}.ours", folder / f"{name}.told"
    plugin = f"-fplugin={tools['plugin']}"
    run([tools["clang"], "-O2", source, "-o", plain], folder)
    run([tools["clang"], "-O2", plugin, "-fplugin-arg-smalloc-rewrite=all", source, "-o", ours], folder)
    run([tools["clang"], "-O2", plugin, "-fplugin-arg-smalloc-profile-generate", source, "-o", told], folder)
    command = [str(plain), *arguments]
    base = bench.run_once(command, {}, None)
    budget = int(base["peak_rss_bytes"] * BUDGET_SHARE) // bench.SUPERPAGE_BYTES * bench.SUPERPAGE_BYTES
    trace, directives = folder / "t.trace", folder / "t.directives"
    trace.unlink(missing_ok=True)
    run([tools["smalloc"], "record", "-q", "--rate", "1", "-o", trace, "--", told, *recorded], folder)
    report = json.loads(run([tools["smalloc"], "analyze", trace, "--machine", options.machine, "--categories", "context", "--budget", budget,
                             "--no-db", "--json", "-q", "-o", directives], folder))
    ways = {"base": (plain, {}), "all": (plain, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
            "selective": (ours, {"LD_PRELOAD": str(tools["library"]), "SMALLOC_CONF": f"directives:{directives},budget:{budget}"})}
    runs = {way: [] for way in ways}
    for turn in range(1 if options.quick else options.runs):
        for way in list(ways)[::-1 if turn % 2 else 1]:
            program, environment = ways[way]
            runs[way].append(bench.run_once([str(program), *arguments], environment, None))
    if len({r["output_sha256"] for way in runs.values() for r in way}) != 1:
        fail(name, "its output depends on the pages", "run it by hand")
    result = {"name": name, "arguments": arguments, "recorded": recorded, "budget_bytes": budget,
              "chosen": [f"{m['category']['function']}:{m['category']['line']}" for m in report["mappings"] if m["chosen"]]}
    for way, all_runs in runs.items():
        user = [r["user_seconds"] for r in all_runs]
        result[way] = {"user_seconds": statistics.median(user), "user_spread": max(user) - min(user),
                       "system_seconds": min(r["system_seconds"] for r in all_runs),
                       "peak_rss_bytes": statistics.median(r["peak_rss_bytes"] for r in all_runs),
                       "superpages": statistics.median(r["superpages"] for r in all_runs)}
    return result


def kept(result):
    """Share of what superpages for everything save; None: they save nothing to speak of."""
    saved = result["base"]["user_seconds"] - result["all"]["user_seconds"]
    if saved <= max(result["base"]["user_spread"], 0.02 * result["base"]["user_seconds"]):
        return None
    return (result["base"]["user_seconds"] - result["selective"]["user_seconds"]) / saved


def share(result, way):
    return result[way]["superpages"] * bench.SUPERPAGE_BYTES / result[way]["peak_rss_bytes"]


def text(report):
    lines = ["| program | base pages | everything on superpages | selective | of the gain | memory on superpages | chosen |",
             "|---|---|---|---|---|---|---|"]
    for r in report["programs"]:
        part = kept(r)
        cells = [f"{r[way]['user_seconds']:.2f} s + {r[way]['system_seconds']:.2f} s" for way in ("base", "all", "selective")]
        lines.append(f"| {r['name']} | {' | '.join(cells)} | {'-' if part is None else f'{100 * part:.0f} %'} | "
                     f"{100 * share(r, 'all'):.1f} % → {100 * share(r, 'selective'):.2f} % | {', '.join(r['chosen']) or '-'} |")
    return "\n".join(lines)


def page(report):
    """What docs/evaluation.md says: scripts/regen_docs.py puts it there."""
    return (f"{text(report)}\n\nUser + least system time, medians of {report['runs']} runs in turn; the gain is of user time. Recorded with a "
            f"smaller input, budget {100 * BUDGET_SHARE:g} % of the memory. Machine {report['machine']}. "
            "Made by `scripts/selective.py --record`.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--machine", default="native", help="whose TLB the choice is for (default native)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-p", "--program", action="append", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    tools = {"clang": shutil.which(options.clang), "smalloc": build / "bin/smalloc", "plugin": build / "lib/SmallocPlugin.so",
             "library": build / "lib/libsmalloc.so"}
    for name, path in tools.items():
        if not path or not Path(path).exists():
            fail(path or options.clang, "not found", "cmake --build build" if name != "clang" else "--clang NAME")
    known = [program[0] for program in PROGRAMS]
    if unknown := set(options.program or []) - set(known):
        fail(", ".join(sorted(unknown)), "no such program", "-p with one of " + ", ".join(known))
    with tempfile.TemporaryDirectory() as folder:
        programs = [measure(name, quick if options.quick else arguments, quick if options.quick else recorded, options, tools, Path(folder))
                    for name, arguments, quick, recorded in PROGRAMS if not options.program or name in options.program]
    report = {"schema": "smalloc.selective/1", "machine": options.machine, "runs": 1 if options.quick else options.runs, "programs": programs}
    document = json.dumps(report, indent=1) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.record and not options.program and not options.quick:
        (ROOT / "benchmarks/results/selective.json").write_text(document, encoding="utf-8")
    print(text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
