#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""chosen_times.py makes the table of run times in docs/evidence/evaluation.md. Each program is recorded, and
smalloc analyze chooses sites. Then it runs in turn on base pages, on superpages for everything,
with the chosen sites on superpages, and with them on base pages (pages:base).

The predicted run time with the chosen sites is the time of the last configuration less the saving
that smalloc analyze predicts. Both use the same heaps, because a heap that is denser than malloc's
is no effect of page sizes. The cost of base pages depends on the frames that a program gets: the
same walk took 50 cycles and 400, and list's superpages saved 0.2 s and 1.5. So runs and calibration
get frames of whole blocks (scripts/steady_memory.py), where superpages save least.

This machine is calibrated before, amid and after each program's runs. The prediction uses the
median of the three savings, since one calibration in fifteen measured walks more than twice as
expensive as the calibrations around it. The prediction is compared with each round's run, and the
median round counts. A time is the sum of user and system time, because the clock's ticks divide it:
of two runs of file_stream that take 0.69 s one had 0.41 s of system time, the other 0.32. The
median error with each configuration's times separately is printed beside it. Programs without a
gain are included: their losses count as well.

A second prediction is the one that `smalloc analyze` makes once it has runs of the program: three
on base pages and three with the chosen sites (up to six, if some got no superpages). These runs
have another input, so that nothing of the predicted run is known. The history has the share of the
prediction that this input has saved. The predicted time is that of the rewritten program switched
off, less this share of the calibration's prediction for the table's input. (Switched off: heap:off,
as `smalloc apply --base` runs it. Its loops lie elsewhere than the plain program's, which alone
makes hash_probe a sixth slower.)

  chosen_times.py                  a table; an hour, on a machine that does nothing else; as root, or times differ more
  chosen_times.py --record         also benchmarks/results/chosen-times.json, which scripts/regen_docs.py reads; with -p the
                                   others' results stay there, if they are of this machine and as many runs
  chosen_times.py -p gups --quick  one program, one short run each way
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import bench_runs  # pylint: disable=wrong-import-position
import selective  # pylint: disable=wrong-import-position
import steady_memory  # pylint: disable=wrong-import-position
import result_rows  # noqa: E402

# Source, arguments, arguments of another input, of --quick. Half a gigabyte and more for programs
# that gain: with less, the virtual machine's own base pages hide the gain.
PROGRAMS = [
    ("bfs.c", ["22", "8"], ["21", "8"], ["15", "4"]),
    ("colsum.c", ["30000"], ["24000"], ["3000", "900"]),
    ("gups.c", ["26"], ["25"], ["20"]),
    ("hash_probe.c", ["25"], ["24"], ["18"]),
    ("list.c", ["4000000", "65536", "2"], ["3000000", "65536", "2"], ["100000", "512", "2"]),
    ("spmv.c", ["20", "26"], ["19", "26"], ["14", "20"]),
    ("stride.c", ["1024", "8192", "10000000"], ["768", "8192", "10000000"], ["64", "8192", "300000"]),
    ("transpose.c", ["8000", "3"], ["7000", "3"], ["1500", "1"]),
    ("tree.c", ["2000000"], ["1500000"], ["30000"]),
    ("unordered_map.cpp", ["4000000"], ["3000000"], ["100000"]),
    ("vector_gather.cpp", ["20000000", "4", "1"], ["15000000", "4", "1"], ["500000", "4", "1"]),
    # Programs without a gain.
    ("bodies.c", ["400", "4000"], ["400", "3000"], ["50", "20"]),
    ("file_stream.c", ["256", "24"], ["192", "24"], ["4", "2"]),
    ("lz.c", ["48", "64"], ["36", "64"], ["1", "16"]),
    ("stream.c", ["300", "8"], ["220", "8"], ["16", "2"]),
]
RECORDED = ROOT / "benchmarks/results/chosen-times.json"
LEARNING_RUNS = 3  # of each kind: runtime/database/run_comparison.h
# unbacked: the chosen objects, all on base pages; off: the same program with its own malloc
WAYS = ("base", "all", "profile", "unbacked", "off")
CALIBRATION = 5 << 28  # most bytes that smalloc calibrate touches at once


def calibrate(options, tools, folder):
    machine = folder / f"machine{len(options.calibrated)}.json"
    options.memory.prepare(CALIBRATION)
    selective.run([tools["smalloc"], "calibrate", *(["--quick"] if options.quick else []), "-q", "--profile", machine], folder)
    options.calibrated.append(str(machine))


def analyze(trace, directives, machine, tools, folder):
    """Returns the report of smalloc analyze, and the frequency that converts its cycles into
    seconds."""
    shown = json.loads(selective.run([tools["smalloc"], "machine", "show", machine, "--json"], folder))
    report = json.loads(selective.run([tools["smalloc"], "analyze", trace, "--machine", machine, "--no-db", "--json", "-q", "-o", directives],
                                      folder))
    return report, shown["frequency_hz"] or 3e9


def category_of(mapping):
    category = mapping["category"]
    return category["kind"], category["id"], category["context"]


def chosen_by(report):
    return {category_of(m) for m in report["mappings"] if m["chosen"]}


def saved_seconds(report, hertz, chosen):
    """Returns the saving of the chosen sites. Another calibration may choose other sites, and then
    has no joint figure for these."""
    if chosen_by(report) == chosen:
        return report["chosen"]["saved_cycles_joint"] / hertz
    return sum(m["saved_cycles"] for m in report["mappings"] if category_of(m) in chosen) / hertz


def realised_share(told, ours, arguments, options, tools, folder):
    """Returns the share of the prediction for these arguments that runs of the program have saved,
    from the history. None: nothing was chosen or learnt."""
    state = {"XDG_STATE_HOME": str(folder / f"{ours.name}.state")}
    app, trace = folder / "app", folder / "other.trace"  # the history finds builds of a program by its path
    shutil.copy(told, app)
    selective.run([tools["smalloc"], "record", "-q", "--rate", "1", "-o", trace, "--", app, *arguments], folder, state)
    machine = options.machine or options.calibrated[-1]
    report = json.loads(selective.run([tools["smalloc"], "analyze", trace, "--machine", machine, "--json", "-q"], folder, state))
    trace.unlink()
    if not chosen_by(report):
        return None
    shutil.copy(ours, app)
    needed = bench_runs.run_once([str(app), *arguments], {}, None)["peak_rss_bytes"]
    # A run with less than half of its superpages is no evidence, as other programs may have had
    # them.
    for number in range(2 * LEARNING_RUNS):
        for kind in ([], ["--base"])[:: 1 if number % 2 else -1]:
            if kind and number >= LEARNING_RUNS:
                continue
            options.memory.prepare(needed)
            selective.run([tools["smalloc"], "apply", "-q", *kind, "--", app, *arguments], folder, state)
        if number + 1 < LEARNING_RUNS:
            continue
        share = json.loads(selective.run([tools["smalloc"], "db", "show", app, "--json"], folder, state))["realised"]["share"]
        if share is not None:
            return share
    return None


def measure(program, options, tools, folder):
    source, arguments, other, quick = program
    if options.quick:
        arguments = other = quick
    name, path = source.split(".")[0], ROOT / "benchmarks/kernels" / source
    compiler = [tools["clang"], "-O2", "-g1"] + (["--driver-mode=g++"] if source.endswith("pp") else [])
    plugin = f"-fplugin={tools['plugin']}"
    plain, ours, told = folder / name, folder / f"{name}.ours", folder / f"{name}.told"
    selective.run([*compiler, path, "-o", plain], folder)
    selective.run([*compiler, plugin, "-fplugin-arg-smalloc-rewrite=all", path, "-o", ours], folder)
    selective.run([*compiler, plugin, "-fplugin-arg-smalloc-profile-generate", path, "-o", told], folder)
    trace, directives = folder / "t.trace", folder / "t.directives"
    trace.unlink(missing_ok=True)
    selective.run([tools["smalloc"], "record", "-q", "--rate", "1", "-o", trace, "--", told, *arguments], folder)
    share = realised_share(told, ours, other, options, tools, folder)
    report, hertz = analyze(trace, directives, options.machine or options.calibrated[-1], tools, folder)
    chosen = chosen_by(report)
    promised = saved_seconds(report, hertz, chosen)
    # If nothing is chosen, no calibration predicts a saving.
    priced = chosen and not options.machine
    prices = [options.calibrated[-1]] if priced else []
    ways = {"base": (plain, {}), "all": (plain, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
            "profile": (ours, {"LD_PRELOAD": str(tools["library"]), "SMALLOC_CONF": f"directives:{directives}"})}
    ways["unbacked"] = (ours, {**ways["profile"][1], "SMALLOC_CONF": f"directives:{directives},pages:base,validate:off"})
    ways["off"] = (ours, {**ways["profile"][1], "SMALLOC_CONF": "heap:off"})
    runs = {way: [] for way in WAYS}
    needed = bench_runs.run_once([str(plain), *arguments], {}, None)["peak_rss_bytes"]
    rounds = 1 if options.quick else options.runs
    for number in range(rounds):
        if priced and number == rounds // 2:
            calibrate(options, tools, folder)
            prices.append(options.calibrated[-1])
        first = number % len(WAYS)
        for way in WAYS[first:] + WAYS[:first]:
            binary, environment = ways[way]
            options.memory.prepare(needed)
            runs[way].append(bench_runs.run_once([str(binary), *arguments], environment, None))
    if priced:
        calibrate(options, tools, folder)
        prices.append(options.calibrated[-1])
    if any(r["superpages"] for r in runs["unbacked"]):
        selective.fail(name, "superpages in spite of pages:base", "SMALLOC_CONF=stats:exit says whose")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is timed from here on
        saved = list(pool.map(lambda machine: saved_seconds(*analyze(trace, f"{machine}.directives", machine, tools, folder), chosen), prices))
    if len({r["output_sha256"] for way in WAYS for r in runs[way]}) != 1:
        selective.fail(name, "its output depends on the pages", "run it by hand")
    result = {"name": name, "arguments": arguments, "saved_seconds_by": saved or [promised], "promised_seconds": promised, "learned_from": other, "realised_share": share,
              "sites": [f"{m['category']['function']}:{m['category']['line']}" if m["category"]["kind"] != "static" else "static data"
                        for m in report["mappings"] if m["chosen"]]}
    for way in WAYS:
        users, systems = ([r[f"{kind}_seconds"] for r in runs[way]] for kind in ("user", "system"))
        result[way] = {"user_seconds": users, "system_seconds": systems, "peak_rss_bytes": statistics.median(r["peak_rss_bytes"] for r in runs[way])}
    print(f"{name}: {result}", file=sys.stderr, flush=True)
    return result


def sums(result, way):
    return [user + system for user, system in zip(result[way]["user_seconds"], result[way]["system_seconds"])]


def quartile(times):
    return sorted(times)[(len(times) - 1) // 4]


def half_quartiles(times):
    """Returns half of the interquartile range."""
    return (-quartile([-t for t in times]) - quartile(times)) / 2


def seconds(result, way):
    return statistics.median(sums(result, way))


def predicted_in_rounds(result):
    """Returns seconds: the same heaps on base pages, less the saving by the median of the
    calibrations around the rounds."""
    saved = statistics.median(result["saved_seconds_by"])
    return [unbacked - saved for unbacked in sums(result, "unbacked")]


def taught_saving(result):
    """Returns seconds: the share of the prediction that another input's runs have saved, times the
    saving here. The share refers to the calibration of that time, and may correct its errors."""
    share = result["realised_share"]
    return result["promised_seconds"] * (1 if share is None else share)


def learned_in_rounds(result):
    """Returns seconds: switched off, less the saving that runs have taught."""
    return [off - taught_saving(result) for off in sums(result, "off")]


def error(result, of_rounds=predicted_in_rounds):
    """Returns the error of the predicted run time, as a share of the measured one, in the median
    round."""
    return statistics.median(said / run for said, run in zip(of_rounds(result), sums(result, "profile"))) - 1


# Estimates of a configuration's time from its own runs, whatever the calibrations around them say.
ESTIMATES = {"medians": statistics.median, "lower quartiles": quartile, "least sums": min}


def error_apart(result, of_rounds, estimate):
    way, less = ("off", taught_saving(result)) if of_rounds is learned_in_rounds else ("unbacked", statistics.median(result["saved_seconds_by"]))
    return (estimate(sums(result, way)) - less) / estimate(sums(result, "profile")) - 1


def median_error(report, error_of):
    return f"{100 * statistics.median(abs(error_of(r)) for r in report['programs']):.1f} %"


def loss(result):
    """Returns how much slower it is than base pages in the median round, as a share; None: not
    beyond the spread of the rounds."""
    slower = [run / base - 1 for run, base in zip(sums(result, "profile"), sums(result, "base"))]
    return statistics.median(slower) if statistics.median(slower) > 2 * half_quartiles(slower) and quartile(slower) > 0 else None


def text(report):
    lines = ["| program | base pages | everything on superpages | what was chosen | the same, not backed | switched off | predicted | error | "
             "share that another input saved | expected | error | peak memory | chosen |", "|" + "---|" * 13]
    for r in report["programs"]:
        times = [f"{seconds(r, way):.2f} s ± {half_quartiles(sums(r, way)):.2f}" for way in WAYS]
        memory = " / ".join(f"{r[way]['peak_rss_bytes'] / 2**20:.0f}" for way in WAYS)
        share = "-" if r["realised_share"] is None else f"{r['realised_share']:.2f}"
        lines.append(f"| {r['name']} | {' | '.join(times)} | {statistics.median(predicted_in_rounds(r)):.2f} s | {100 * error(r):+.1f} % | {share} | "
                     f"{statistics.median(learned_in_rounds(r)):.2f} s | {100 * error(r, learned_in_rounds):+.1f} % | {memory} MiB | "
                     f"{', '.join(r['sites']) or '-'} |")
    return "\n".join(lines)


def page(report):
    """Returns the section of docs/evidence/evaluation.md, which scripts/regen_docs.py writes there."""
    def errors(of_rounds):
        others = ", ".join(f"{median_error(report, lambda r, e=estimate: error_apart(r, of_rounds, e))} by {name}" for name, estimate in ESTIMATES.items())
        worst = max(abs(error(r, of_rounds)) for r in report["programs"])
        return f"median error {median_error(report, lambda r: error(r, of_rounds))}, worst {100 * worst:.1f} % (each way apart: {others})"

    losses = [f"{r['name']} by {100 * loss(r):.1f} %" for r in report["programs"] if loss(r) is not None]
    host = report["host"]
    return (f"{text(report)}\n\nMedian sum of user and system time of {report['runs']} rounds of runs in turn, ± half of what lies between "
            "the quartiles; peak memory in the same order. Errors: predicted run time against the measured one of the same round, the median "
            "round. Not backed: the same program with the same directives and no superpages, which is what the savings of the prediction by "
            f"calibration are taken from: {errors(predicted_in_rounds)}. Expected after three runs of each kind with another input, from the program "
            f"switched off: {errors(learned_in_rounds)}. Slower than on base pages beyond the spread: {', '.join(losses) or 'none'}. Base pages "
            f"{'out of whole blocks' if report['whole_blocks'] else 'as the kernel had them'}. Machine {report['machine']}, {bench_runs.machine_in_words(host)}, Linux "
            f"{host['kernel']}. Made by `scripts/chosen_times.py --record`.")


def merged(recorded, report):
    """Returns the recording with the report's programs in place of its own."""
    for key in ("schema", "machine", "host", "runs", "whole_blocks", "kept_from_host"):
        if recorded[key] != report[key]:
            selective.fail(RECORDED, f"its '{key}' is another than this run's", "chosen_times.py --record, without -p")
    newer = {r["name"]: r for r in report["programs"]}
    return {**recorded, "programs": [newer.get(r["name"], r) for r in recorded["programs"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--machine", help="preset or profile (default: this one, calibrated first)")
    parser.add_argument("--runs", type=int, default=7)
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
            selective.fail(path or name, "not found", "--clang NAME" if name == "clang" else "cmake --build build")
    if unknown := set(options.program or []) - {source.split(".")[0] for source, *_ in PROGRAMS}:
        selective.fail(", ".join(sorted(unknown)), "no such program", "-p with one of " + ", ".join(p[0].split(".")[0] for p in PROGRAMS))
    with tempfile.TemporaryDirectory() as folder, steady_memory.SteadyMemory(not options.quick) as options.memory:
        kind = options.machine or "calibrated before, amid and after each program's runs"
        options.calibrated = []
        if not options.machine:
            calibrate(options, tools, Path(folder))
        programs = [measure(program, options, tools, Path(folder)) for program in PROGRAMS
                    if not options.program or program[0].split(".")[0] in options.program]
    report = {"schema": "smalloc.chosen-times/9", "machine": kind, "host": bench_runs.machine(), "runs": 1 if options.quick else options.runs,
              "whole_blocks": options.memory.is_whole, "kept_from_host": options.memory.is_kept,
              "programs": programs}
    document = result_rows.rows(report) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.record and not options.quick:
        if options.program:
            document = result_rows.rows(merged(json.loads(RECORDED.read_text(encoding="utf-8")), report)) + "\n"
        RECORDED.write_text(document, encoding="utf-8")
    print(text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
