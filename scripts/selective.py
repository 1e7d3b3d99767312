#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""selective.py measures how much of the speed of all-superpages smalloc keeps with a few of them.
Programs with skewed access are recorded with a small input, and smalloc analyze chooses under a
budget of 3 % of the large one's memory. The large one runs on base pages, on superpages for
everything, and with the directives.

If times vary by more than the gain, counts are used. Each load and store of one pass over the large
input, and of two, goes through evaluate.py's exact TLBs, and misses and first touches are priced.
Each further pass equals the second. Times are taken in memory that is the same in each run
(steady_memory.py), in which superpages save least.

  selective.py                     a table
  selective.py --record            also benchmarks/results/selective.json, which scripts/regen_docs.py reads
  selective.py --quick             one short run each
  selective.py --count --record    anew what is counted, three quarters of an hour; times of the last recording stay
  selective.py --times --record    anew the times; what was counted stays, if the same sites are chosen
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import bench_runs  # pylint: disable=wrong-import-position
import evaluate  # pylint: disable=wrong-import-position
import steady_memory  # pylint: disable=wrong-import-position
import result_rows  # noqa: E402

BUDGET_SHARE = 0.03
# Source, arguments, arguments of --quick, of the recording: as large a hot part, fewer accesses to
# it. The last argument is the number of passes.
PROGRAMS = [
    ("pagerank", ["23", "72", "8"], ["20", "8", "3"], ["23", "2", "2"]),
    ("hash_join", ["22", "280", "4"], ["18", "2", "3"], ["22", "8", "1"]),
]


def fail(what, why, hint):
    print(f"{Path(sys.argv[0]).name}: error: {what}: {why}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def run(command, folder, environment=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode:
        fail(" ".join(map(str, command)), done.stderr.strip() or done.returncode, "run it by hand")
    return done.stdout


def chain(mapping):
    """Returns the name of a site in its context: FUNCTION:LINE of the call, of the call around it
    that it was inlined through, and so on."""
    category = mapping["category"]
    around = [re.fullmatch(r"(.*) \S+:(\d+)", place).groups() for place in category.get("inlined_into", [])]
    return [f"{function}:{line}" for function, line in [(category["function"], category["line"]), *around]]


def count(name, arguments, chosen, options, tools, folder):
    """Returns the cost in the exact TLBs with nothing, everything and the chosen sites on
    superpages, in cycles of the machine's curve."""
    exact = folder / f"{name}.exact"
    run([tools["clang"], "-O2", "-fno-omit-frame-pointer", "-c", ROOT / "benchmarks/evaluation/exact_mappings.c", "-o", folder / "exact.o"],
        folder)
    run([tools["clang"], *evaluate.FLAGS, "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-mllvm",
         "-disable-loop-idiom-all", "-fsanitize-coverage=func,trace-loads,trace-stores", ROOT / "benchmarks/selective" / f"{name}.c",
         folder / "exact.o", "-o", exact], folder)
    costs = evaluate.Costs(json.loads(run([tools["smalloc"], "machine", "show", options.machine, "--json"], folder)))
    # Sites do not depend on the input, so a small input is enough.
    found = json.loads(evaluate.run([exact, *next(p[2] for p in PROGRAMS if p[0] == name)], folder).stderr.splitlines()[-1])["sites"]
    sites = {}
    for caller in {s["caller"] for s in found} - {evaluate.STATIC}:
        word = hex(int(caller.split(":")[0], 16) - 1)
        frames = json.loads(run([tools["symbolizer"], f"--obj={exact}", "--output-style=JSON", word], folder))[0]["Symbol"]
        sites.setdefault(" < ".join(f"{f['FunctionName']}:{f['Line']}" for f in frames), []).append(caller)
    if missing := {" < ".join(c) for c in chosen} - set(sites):
        fail(name, f"no such site in the simulated program: {', '.join(sorted(missing))}", f"it has {', '.join(sorted(sites))}")
    together = "+".join(caller for c in chosen for caller in sites[" < ".join(c)])
    passes = []
    for number in ("1", "2"):
        lanes = json.loads(evaluate.run([exact, *arguments[:-1], number], folder, TLB=costs.tlb, SITES=together).stderr.splitlines()[-1])["lanes"]
        # The cycles contain thousands of distances.
        passes.append({way: {**{key: value for key, value in lane.items() if not isinstance(value, list)}, "cycles": costs.cycles(lane)}
                       for way, lane in zip(("base", "selective", "all"), [lanes[0], *lanes[-2:]])})
    return {"arguments": arguments, **extrapolated(passes[0], passes[1], int(arguments[-1]))}


def extrapolated(one, two, passes):
    """Returns the counts of `passes` passes, from those of one and of two: every pass is the same."""
    return {way: {key: value + (passes - 1) * (two[way][key] - value) for key, value in one[way].items()} for way in one}


def measure(program, recording, options, tools, folder):
    """Measures a program. recording: an earlier result, of which times or counts stay; None: both
    are measured."""
    times = recording if options.count else None
    name, arguments, quick, recorded = program
    if options.quick:
        arguments = recorded = quick
    source = ROOT / "benchmarks/selective" / f"{name}.c"
    plain, ours, told = folder / name, folder / f"{name}.ours", folder / f"{name}.told"
    plugin = f"-fplugin={tools['plugin']}"
    run([tools["clang"], "-O2", source, "-o", plain], folder)
    run([tools["clang"], "-O2", plugin, "-fplugin-arg-smalloc-rewrite=all", source, "-o", ours], folder)
    run([tools["clang"], "-O2", plugin, "-fplugin-arg-smalloc-profile-generate", source, "-o", told], folder)
    needed = times["base"]["peak_rss_bytes"] if times else bench_runs.run_once([str(plain), *arguments], {}, None)["peak_rss_bytes"]
    budget = times["budget_bytes"] if times else int(needed * BUDGET_SHARE) // bench_runs.SUPERPAGE_BYTES * bench_runs.SUPERPAGE_BYTES
    trace, directives = folder / "t.trace", folder / "t.directives"
    trace.unlink(missing_ok=True)
    run([tools["smalloc"], "record", "-q", "--rate", "1", "-o", trace, "--", told, *recorded], folder)
    report = json.loads(run([tools["smalloc"], "analyze", trace, "--machine", options.machine, "--categories", "context", "--budget", budget,
                             "--no-db", "--json", "-q", "-o", directives], folder))
    chosen = [chain(m) for m in report["mappings"] if m["chosen"]]
    result = {"name": name, "arguments": arguments, "recorded": recorded, "budget_bytes": budget,
              "chosen": [" < ".join(c) for c in chosen]}
    if options.times and not recording:
        fail(name, "nothing was counted of it", "selective.py --record, without --times")
    if options.times and (recording["chosen"], recording["arguments"]) != (result["chosen"], arguments):
        fail(name, f"chosen is {'; '.join(result['chosen'])}, counted was {'; '.join(recording['chosen'])}", "selective.py --record, without --times")
    result["counted"] = recording["counted"] if options.times else count(name, arguments, chosen, options, tools, folder)
    if times:
        return {**times, "chosen": result["chosen"], "counted": result["counted"]}
    ways = {"base": (plain, {}), "all": (plain, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
            "selective": (ours, {"LD_PRELOAD": str(tools["library"]), "SMALLOC_CONF": f"directives:{directives},budget:{budget}"})}
    runs = {way: [] for way in ways}
    for turn in range(1 if options.quick else options.runs):
        for way in list(ways)[::-1 if turn % 2 else 1]:
            program, environment = ways[way]
            options.memory.prepare(needed)
            runs[way].append(bench_runs.run_once([str(program), *arguments], environment, None))
    if len({r["output_sha256"] for way in runs.values() for r in way}) != 1:
        fail(name, "its output depends on the pages", "run it by hand")
    for way, all_runs in runs.items():
        user = [r["user_seconds"] for r in all_runs]
        result[way] = {"user_seconds": statistics.median(user), "user_spread": max(user) - min(user),
                       "system_seconds": min(r["system_seconds"] for r in all_runs),
                       "peak_rss_bytes": statistics.median(r["peak_rss_bytes"] for r in all_runs),
                       "superpages": statistics.median(r["superpages"] for r in all_runs)}
    return result


def kept(result):
    """Returns the share of the saving of superpages for everything; None: they save nothing
    noticeable."""
    saved = result["base"]["user_seconds"] - result["all"]["user_seconds"]
    if saved <= max(result["base"]["user_spread"], 0.02 * result["base"]["user_seconds"]):
        return None
    return (result["base"]["user_seconds"] - result["selective"]["user_seconds"]) / saved


def kept_of_count(counted):
    saved = counted["base"]["cycles"] - counted["all"]["cycles"]
    return (counted["base"]["cycles"] - counted["selective"]["cycles"]) / saved if saved > 0 else None


def share(result, way):
    return result[way]["superpages"] * bench_runs.SUPERPAGE_BYTES / result[way]["peak_rss_bytes"]


def text(report):
    lines = ["| program | base pages | everything on superpages | selective | of the gain, counted | timed | memory on superpages | chosen |",
             "|---|---|---|---|---|---|---|---|"]
    for r in report["programs"]:
        parts = ["-" if part is None else f"{100 * part:.0f} %" for part in (kept_of_count(r["counted"]), kept(r))]
        cells = [f"{r[way]['user_seconds']:.2f} s + {r[way]['system_seconds']:.2f} s" for way in ("base", "all", "selective")]
        lines.append(f"| {r['name']} | {' | '.join(cells)} | {' | '.join(parts)} | "
                     f"{100 * share(r, 'all'):.1f} % → {100 * share(r, 'selective'):.2f} % | {'; '.join(r['chosen']) or '-'} |")
    return "\n".join(lines)


def page(report):
    """Returns the section of docs/evidence/evaluation.md, which scripts/regen_docs.py writes there."""
    host = report["host"]
    return (f"{text(report)}\n\nUser + least system time, medians of {report['runs']} runs in turn; the gain timed is of user time, - where that "
            "of everything is within the spread of base pages' own times. Counted: misses and first touches "
            "in exact TLBs, of one pass and of two, each further one as the second, priced with the machine's curve; a gain above 100 % is what everything else loses by its superpages. Recorded "
            f"with a smaller input, budget {100 * BUDGET_SHARE:g} % of the memory. Base pages {'out of whole blocks' if report['whole_blocks'] else 'as the kernel had them'}. "
            f"Priced for machine {report['machine']}; timed on {bench_runs.machine_in_words(host)}, Linux {host['kernel']}. "
            "Made by `scripts/selective.py --record`.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--symbolizer", default="llvm-symbolizer-22")
    parser.add_argument("--machine", default="native", help="whose TLB the choice is for (default native)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-p", "--program", action="append", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", action="store_true", help="run no program for its time: keep the recorded times")
    parser.add_argument("--times", action="store_true", help="count nothing: keep the recorded counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    tools = {"clang": shutil.which(options.clang), "smalloc": build / "bin/smalloc", "plugin": build / "lib/SmallocPlugin.so",
             "library": build / "lib/libsmalloc.so", "symbolizer": shutil.which(options.symbolizer)}
    for name, path in tools.items():
        if not path or not Path(path).exists():
            fail(path or name, "not found", "cmake --build build" if name not in ("clang", "symbolizer") else f"--{name} NAME")
    known = [program[0] for program in PROGRAMS]
    if unknown := set(options.program or []) - set(known):
        fail(", ".join(sorted(unknown)), "no such program", "-p with one of " + ", ".join(known))
    path, old = ROOT / "benchmarks/results/selective.json", {"programs": []}
    if options.count or options.times:
        asked = "--count" if options.count else "--times"
        if options.count and options.times:
            fail(asked, "nothing is left to be made", "one of --count and --times")
        if options.quick or not path.exists():
            fail(asked, "--quick has no recording" if options.quick else f"{path} is not there", "selective.py --record")
        old = json.loads(path.read_text(encoding="utf-8"))
    recorded = {r["name"]: r for r in old["programs"]}
    with tempfile.TemporaryDirectory() as folder, steady_memory.SteadyMemory(not options.quick and not options.count) as options.memory:
        programs = [measure(program, recorded.get(program[0]), options, tools, Path(folder))
                    for program in PROGRAMS if not options.program or program[0] in options.program]
    host = {"host": bench_runs.machine(), "whole_blocks": options.memory.is_whole, "kept_from_host": options.memory.is_kept}
    if options.count:
        host = {key: old[key] for key in host}
    report = {"schema": "smalloc.selective/4", "machine": old["machine"] if options.times else options.machine, **host,
              "runs": 1 if options.quick else old["runs"] if options.count else options.runs, "programs": programs}
    document = result_rows.rows(report) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.record and not options.program and not options.quick:
        path.write_text(document, encoding="utf-8")
    print(text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
