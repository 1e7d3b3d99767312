#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""evaluate.py measures the accuracy of smalloc analyze's rankings. Each program is recorded and
analysed, and the PMB of every base mapping is compared with an exact simulation: all loads and
stores of the program go through the machine's last-level TLB under that mapping
(benchmarks/evaluation/exact_mappings.c), priced with the same curve. It uses the recorded input,
and other inputs. If the best mapping saves less than smalloc analyze takes for significant, there
is no ranking, and the table says so instead of an error.

  evaluate.py                     a table
  evaluate.py --record            also benchmarks/results/evaluation.json, which scripts/regen_docs.py reads
  evaluate.py -p gups --rate 0.1  one program, sampled
  evaluate.py -p gups --record    the others' results stay as they are
"""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import result_rows  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "benchmarks" / "kernels"
# Source, recorded input, other inputs. The recorded sizes exceed the TLB's reach, and are small
# enough for a simulation.
PROGRAMS = [
    ("bfs.c", ["18", "4"], [["17", "8"]]),
    ("colsum.c", ["3000", "2000", "1"], [["1500", "3000", "1"]]),
    ("gups.c", ["22"], [["23", "10"]]),
    ("hash_probe.c", ["20"], [["19", "600000"]]),
    ("list.c", ["300000", "8192", "2"], [["150000", "4096", "4"]]),
    ("spmv.c", ["15", "21", "8", "2"], [["16", "20", "6", "2"], ["16", "22", "4", "2"]]),
    ("stream.c", ["24", "2"], [["12", "3"]]),
    ("stride.c", ["64", "8192", "300000"], [["32", "4096", "300000"]]),
    ("transpose.c", ["1500", "1"], [["1100", "2"]]),
    ("tree.c", ["100000"], [["60000", "120000"]]),
    ("unordered_map.cpp", ["250000"], [["150000", "400000"], ["400000", "200000"]]),
    ("vector_gather.cpp", ["1000000", "4", "1"], [["500000", "6", "1"]]),
]
BASE_BYTES, SUPERPAGE_BYTES = 4096, 2 << 20
MOST_SITES = 24
LEAST_SECONDS = 0.001  # runtime/benefit/ranking.h: kLeastSeconds
STATIC = "0:0"  # the simulation's name for static data
# The simulation gets no vector accesses of more than 16 bytes, so both sides use code without them.
FLAGS = ["-O2", "-g1", "-fno-vectorize", "-fno-slp-vectorize"]


def fail(what, why, hint):
    print(f"evaluate.py: error: {what}: {why}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def run(command, folder, **environment):
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        fail(" ".join(map(str, command)), done.stderr.strip() or done.returncode, "run it by hand")
    return done


# --- the curve, as in runtime/benefit/cost_model.cpp
# ----------------------------------------------------------


class Costs:
    def __init__(self, machine):
        self.machine = machine
        self.hertz = machine["frequency_hz"] or 3e9
        if machine.get("overlapped_walk_cost"):
            fail(machine["name"], "it has prices of walks that overlap, which an exact simulation of loads and stores does not know",
                 "--machine with a preset")
        last = {}
        for level in machine["tlb"]:
            for size in (BASE_BYTES, SUPERPAGE_BYTES):
                entries = level["entries"]["value"]
                if size in level["page_bytes"] and entries and level["level"] >= last.get(size, {"level": 0})["level"]:
                    last[size] = level
        base, large = last[BASE_BYTES], last[SUPERPAGE_BYTES]
        shared = bool(base["shared"] and SUPERPAGE_BYTES in base["page_bytes"])
        self.tlb = ",".join(str(int(n)) for n in (base["entries"]["value"], base["ways"]["value"] or 0, large["entries"]["value"],
                                                  large["ways"]["value"] or 0, shared))

    def points(self, size):
        points = sorted((c["pages"] or 1, c["cycles"]["value"]) for c in self.machine["walk_cost"]
                        if c["page_bytes"] == size and c["cycles"]["value"])
        return points or ([(1, 30)] if size == BASE_BYTES else self.points(BASE_BYTES))

    def miss_cycles(self, size, pages):
        points = self.points(size)
        if pages <= points[0][0]:
            return points[0][1]
        for (low, low_cycles), (high, high_cycles) in zip(points, points[1:]):
            if pages < high:
                return low_cycles + (high_cycles - low_cycles) * math.log(pages / low) / math.log(high / low)
        return points[-1][1]

    def growth(self, size, pages):
        """Returns the cycles that the curve grows by there for each factor of e."""
        points = self.points(size)
        if pages < points[0][0] or len(points) < 2:
            return 0
        (low, low_cycles), (high, high_cycles) = next(((a, b) for a, b in zip(points, points[1:]) if pages < b[0]), points[-2:])
        if high < 1.5 * low:
            return 0
        growth = (high_cycles - low_cycles) / math.log(high / low)
        return max(growth, 0) if pages >= high else growth

    def fault_cycles(self, size):
        ns = next((t["value"]["value"] for t in self.machine["first_touch_ns"]
                   if t["page_bytes"] == size and t["value"]["value"]), 500 + 0.25 * size)
        return ns * self.hertz / 1e9

    def second_fault_cycles(self):
        return ((self.machine.get("read_first_ns") or {}).get("value") or 500) * self.hertz / 1e9

    def walks(self, size, misses, distances, pages):
        """Returns the price of misses. Random accesses to n pages, with all distances below n, must
        cost the curve's value at n: each miss costs the value at its distance, and the growth
        there. If all distances are alike, as in a loop that returns to each page in turn, a miss
        costs the value alone. Between the two the deviation of the logarithms is decisive. A first
        touch has no distance and uses all pages."""
        again = sum(count for _, count in distances)
        logs = [(math.log(max(distance, 1)), count) for distance, count in distances]
        mean = sum(log * count for log, count in logs) / again if again else 0
        deviation = min(math.sqrt(sum((log - mean) ** 2 * count for log, count in logs) / again), 1) if again else 1

        def cycles(distance):
            here, growth = self.miss_cycles(size, distance), deviation * self.growth(size, distance)
            return max(here + growth, 0) if distance < self.points(size)[-1][0] else min(here + growth, 1.5 * here)

        return (sum(count * cycles(distance) for distance, count in distances)
                + (misses - again) * self.miss_cycles(size, max(pages, 1)))

    def cycles(self, lane):
        return (self.walks(BASE_BYTES, lane["base_misses"], lane["base_distances"], lane["base_pages"])
                + self.walks(SUPERPAGE_BYTES, lane["super_misses"], lane["super_distances"], lane["super_pages"])
                + lane["base_pages"] * self.fault_cycles(BASE_BYTES) + lane["super_pages"] * self.fault_cycles(SUPERPAGE_BYTES)
                + lane["second_faults"] * self.second_fault_cycles())


# --- one program ------------------------------------------------------------------------------------------------------


def source_name(linkage):
    """Returns the last component of a mangled name, as the plugin names constructors and others:
    _ZN3Sub6SystemC2Em is System."""
    rest, name = linkage.removeprefix("_ZN"), linkage
    while rest != linkage and (digits := re.match(r"\d+", rest)):
        name, rest = rest[digits.end():digits.end() + int(digits[0])], rest[digits.end() + int(digits[0]):]
    return name


def places(binary, callers, names, symbolizer):
    """Returns the names of call sites in predictions: function and line, of the innermost known
    place (a wrapper's allocations are its callers'). Inlined copies of one call share a name."""
    words = sorted({word for caller in callers if caller != STATIC for word in caller.split(":") if word != "0"})
    listing = run([symbolizer, f"--obj={binary}", "--output-style=JSON", "--no-demangle", *(hex(int(w, 16) - 1) for w in words)],
                  binary.parent).stdout
    frames = {word: [name for f in answer.get("Symbol") or [] if f.get("FileName")
                     for name in (f"{f['FunctionName']}:{f['Line']}", f"{source_name(f['FunctionName'])}:{f['Line']}")]
              for word, answer in zip(words, json.loads(listing))}
    result = {}
    for caller in callers:
        chain = ["static data"] if caller == STATIC else [f for word in caller.split(":") for f in frames.get(word, [])]
        if chain:
            result[caller] = next((f for f in chain if f in names), chain[0])
    return result


def pmb(saved):
    most = max(saved.values(), default=0)
    return {name: 100 * max(value, 0) / most if most > 0 else 0.0 for name, value in saved.items()}


def truth(binary, arguments, costs, names, symbolizer):
    """Returns the cycles saved by each base mapping, and by everything on superpages."""
    found = json.loads(run([binary, *arguments], binary.parent).stderr.splitlines()[-1])["sites"]
    known = places(binary, [s["caller"] for s in found if s["accesses"]], names, symbolizer)
    groups, weight, superpages = {}, {}, {}
    for site in found:
        if name := known.get(site["caller"]):
            groups.setdefault(name, []).append(site["caller"])
            weight[name] = weight.get(name, 0) + site["accesses"]
            superpages[name] = superpages.get(name, 0) + -(-site["peak_bytes"] // SUPERPAGE_BYTES)
    order = sorted(groups, key=lambda name: -weight[name])[:MOST_SITES]
    result = json.loads(run([binary, *arguments], binary.parent, TLB=costs.tlb,
                            SITES=",".join("+".join(groups[name]) for name in order)).stderr.splitlines()[-1])
    base = costs.cycles(result["lanes"][0])
    saved = {name: base - costs.cycles(lane) for name, lane in zip(order, result["lanes"][1:])}
    return {"accesses": result["accesses"], "base_cycles": base, "saved": saved, "superpages": {name: superpages[name] for name in saved},
            "saved_all": base - costs.cycles(result["lanes"][-1])}


def predicted(smalloc, binary, arguments, options, folder):
    trace = folder / "t.trace"
    trace.unlink(missing_ok=True)
    run([smalloc, "record", "-q", "--rate", options.rate, "-o", trace, "--", binary, *arguments], folder)
    report = json.loads(run([smalloc, "analyze", trace, "--machine", options.machine, "--no-db", "--json", "--mappings", MOST_SITES],
                            folder).stdout)
    saved, chosen, superpages = {}, [], {}
    for mapping in report["mappings"]:
        category = mapping["category"]
        name = ("static data" if category["kind"] == "static" else f"{category['function']}:{category['line']}"
                if category["function"] and category["line"] else None)
        if name == "static data" and Path(category["file"] or "").name != binary.name:
            continue  # of a library, which the simulation does not see
        if name:
            saved[name] = saved.get(name, 0) + mapping["saved_cycles"]
            superpages[name] = superpages.get(name, 0) + mapping["superpages"]
            if mapping["chosen"]:
                chosen.append(name)
    return {"base_cycles": report["miss_cycles_base"], "saved": saved, "superpages": superpages, "chosen": chosen, "trace_bytes": trace.stat().st_size}


def compare(guess, fact, hertz):
    """Returns the ranking error over the mappings that both have: the mean distance between their
    PMB, in percent (Cascaval et al., 5.3.2). Without a noticeable saving there is no error."""
    a, b = pmb(guess["saved"]), pmb(fact["saved"])
    both = sorted(set(a) & set(b))
    best = max(fact["saved"], key=fact["saved"].get) if fact["saved"] else None
    gain = fact["saved"].get(best, 0)
    significant = bool(both) and gain >= LEAST_SECONDS * hertz
    return {"mappings": len(both), "best_saves_ms": 1000 * gain / hertz,
            "error_percent": sum(abs(a[n] - b[n]) for n in both) / len(both) if significant else None,
            "same_best": bool(both) and max(guess["saved"], key=guess["saved"].get) == best,
            "saved_ratio": guess["saved"].get(best, 0) / gain if gain > 0 else None}


def evaluate(options, folder):
    build = options.build.resolve()
    smalloc, plugin = build / "bin/smalloc", build / "lib/SmallocPlugin.so"
    clang, symbolizer = shutil.which(options.clang), shutil.which(options.symbolizer)
    for needed, path in (("bin/smalloc", smalloc.exists()), ("lib/SmallocPlugin.so", plugin.exists()), (options.clang, clang),
                         (options.symbolizer, symbolizer)):
        if not path:
            fail(needed, "not found", "cmake --build build")
    costs = Costs(json.loads(run([smalloc, "machine", "show", options.machine, "--json"], folder).stdout))
    run([clang, "-O2", "-fno-omit-frame-pointer", "-c", ROOT / "benchmarks/evaluation/exact_mappings.c", "-o", folder / "exact.o"], folder)
    results = []
    for source, arguments, others in PROGRAMS:
        name = source.split(".")[0]
        if options.program and name not in options.program:
            continue
        compiler = [clang, "--driver-mode=g++"] if source.endswith("pp") else [clang]
        told, exact = folder / name, folder / f"{name}.exact"
        run([*compiler, *FLAGS, f"-fplugin={plugin}", "-fplugin-arg-smalloc-profile-generate", KERNELS / source, "-lm", "-o", told], folder)
        run([*compiler, *FLAGS, "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-mllvm", "-disable-loop-idiom-all", "-fsanitize-coverage=func,trace-loads,trace-stores",
             KERNELS / source, folder / "exact.o", "-lm", "-o", exact], folder)
        guess = predicted(smalloc, told, arguments, options, folder)
        fact = truth(exact, arguments, costs, guess["saved"], symbolizer)
        elsewhere = [{"input": words, "truth": truth(exact, words, costs, guess["saved"], symbolizer)} for words in others]
        for other in elsewhere:
            other["result"] = compare(guess, other["truth"], costs.hertz)
        results.append({"name": name, "input": arguments, "predicted": guess, "truth": fact, "same": compare(guess, fact, costs.hertz),
                        "others": elsewhere})
        print(f"{name}: {results[-1]['same']}", file=sys.stderr, flush=True)
    return results


def percent(result):
    value = result["error_percent"]
    return f"{value:.2f} %" if value is not None else f"- ({result['best_saves_ms']:.1f} ms to gain)"


def text(report):
    lines = ["| program | mappings | ranking error | with other inputs | best mapping found | its saving, predicted/true |",
             "|---|---|---|---|---|---|"]
    for r in report["programs"]:
        ratio = r["same"]["saved_ratio"]
        lines.append(f"| {r['name']} | {r['same']['mappings']} | {percent(r['same'])} | "
                     f"{', '.join(percent(o['result']) for o in r['others'])} | {'yes' if r['same']['same_best'] else 'no'} | "
                     f"{'-' if ratio is None else f'{ratio:.2f}'} |")
    return "\n".join(lines)


def page(report):
    """Returns the section of docs/evidence/evaluation.md, which scripts/regen_docs.py writes there."""
    parts, small = [], 0
    for what, results in (("the recorded input", [r["same"] for r in report["programs"]]),
                          ("other inputs", [o["result"] for r in report["programs"] for o in r["others"]])):
        errors = [r["error_percent"] for r in results if r["error_percent"] is not None]
        small += len(results) - len(errors)
        # An error of 0 has no logarithm: values below 0.01 % count as 0.01 %.
        def geomean(list_of):
            return statistics.geometric_mean([max(e, 0.01) for e in list_of])
        several = [r["error_percent"] for r in results if r["error_percent"] is not None and r["mappings"] > 1]
        parts.append(f"{what}: geometric mean {geomean(errors):.2f} % ({geomean(several):.2f} % over the {len(several)} with two mappings or more: "
                     f"one alone is always the best), mean {statistics.mean(errors):.2f} %, worst {max(errors):.2f} %")
    ratios = [abs(r["same"]["saved_ratio"] - 1) for r in report["programs"] if r["same"]["saved_ratio"] is not None]
    return (f"{text(report)}\n\nRanking error over {len(report['programs'])} programs and "
            f"{sum(r['same']['mappings'] for r in report['programs'])} mappings, {'; '.join(parts)}. Saving of the best mapping: median "
            f"error {100 * statistics.median(ratios):.1f} %. Inputs with less than {1000 * LEAST_SECONDS:g} ms to gain, which have no ranking: "
            f"{small}. Priced by the machine profile {report['machine']}, recorded at rate {report['rate']:g}; no mapping was timed. "
            "Made by `scripts/evaluate.py --record`.")


def record(report, document):
    """Records the report. Results that were not measured again stay, if they were measured in the
    same way."""
    path = ROOT / "benchmarks/results/evaluation.json"
    fresh = {r["name"]: r for r in report["programs"]}
    if len(fresh) < len(PROGRAMS):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if any(kept[key] != report[key] for key in ("schema", "machine", "rate")):
            fail(path, "it was recorded in another way", "evaluate.py --record, without -p")
        kept["programs"] = [fresh.get(r["name"], r) for r in kept["programs"]]
        document = result_rows.rows(kept) + "\n"
    path.write_text(document, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--symbolizer", default="llvm-symbolizer-22")
    parser.add_argument("--machine", default="zen3", help="preset or profile (default zen3)")
    parser.add_argument("--rate", type=float, default=1)
    parser.add_argument("-p", "--program", action="append", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.program or []) - {source.split(".")[0] for source, _, _ in PROGRAMS}:
        fail(", ".join(sorted(unknown)), "no such program", "-p with one of " + ", ".join(p[0].split(".")[0] for p in PROGRAMS))
    with tempfile.TemporaryDirectory() as folder:
        report = {"schema": "smalloc.evaluation/2", "machine": options.machine, "rate": options.rate,
                  "programs": evaluate(options, Path(folder))}
    document = result_rows.rows(report) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.record:
        record(report, document)
    print(text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
