#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oracle.py measures the accuracy of the plugin's predictions. Each program of nests/ is compiled
with the plugin, which writes its predictions for every allocation site. The same program is
compiled without it, traced, and simulated in exact models of a TLB (tracer.cpp). The two are
compared site by site and reference by reference, and counted.

  oracle.py --build build                      the table; exit 1 when a gate is missed
  oracle.py --build build --only transpose -v  one program, each reference
  oracle.py --build build --record FILE        also the results as JSON, for scripts/regen_docs.py

A reference is compared where its loops' counts are constants:
  pages     distinct pages that it touches, against those of the instructions on its line and column
  misses    of all references of one function to one site, against those of all instructions there
A site is compared twice, sizes being constants and being known at run time only:
  verdict   superpages or not, against what the trace says they would save: at the size that the object really has, and, where
            sizes are known at run time only, by what the compiled program asks for as it runs (asked.c)
"""
import argparse
import concurrent.futures
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import result_rows  # noqa: E402

HERE = Path(__file__).resolve().parent
SUPERPAGE = 2 << 20
MIN_SAVING_CYCLES = 1.0      # value of a page-size decision (passes/decisions/BenefitModel.cpp)
MIN_ACCESSES_PER_PAGE = 2.0  # no superpage is filled for pages that are touched once
PAGES_P95 = 0.05
MISSES_WITHIN = 0.25         # a prediction is right within a quarter of the truth, or below a hundredth an access
VERDICTS_RIGHT = 0.95
MISSES_RIGHT = 0.95
LEAST_NESTS = 30

# Values that no constant describes: the count of a loop, or the address, is data.
NOT_AFFINE = {
    "binary_search", "bit_reversal", "breadth_first", "butterflies", "counting_sort", "gather", "gather_of_gather",
    "gather_prefetched", "gather_small", "hash_chains", "hash_probes", "histogram", "list_walked_often",
    "list_walked_once", "merge_passes", "pointer_table", "random_updates", "row_pointers", "search_tree", "sparse_matvec",
}


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def machine():
    told = json.loads((HERE / "machine.json").read_text(encoding="utf-8"))
    entries = {page: level["entries"] for level in told["tlb"] for page in level["page_bytes"]}
    return {"entries": entries[4096], "near": told["walk_cost"][0]["cycles"], "far": told["walk_cost"][1]["cycles"],
            "stream": told["prefetch"]["max_stride_bytes"]}


def walk_cycles(host, pages):
    at = (math.log2(max(pages, 1)) - 16) / 6
    return host["near"] + (host["far"] - host["near"]) * min(max(at, 0), 1)


class Oracle:
    def __init__(self, options, folder):
        self.folder = Path(folder)
        self.clang = options.clang
        self.plugin = options.build / "lib" / "SmallocPlugin.so"
        self.host = machine()
        self.tracer = self.folder / "tracer.o"
        run([options.cxx, "-std=c++20", "-O2", "-fno-pie", "-c", HERE / "tracer.cpp", "-o", self.tracer])
        self.asked = self.folder / "asked.o"
        run([self.clang, "-O2", "-I", HERE.parent.parent / "smalloc" / "include", "-c", HERE / "asked.c", "-o", self.asked])
        self.cxx = options.cxx

    def predicted(self, source, symbolic):
        """Returns the plugin's sites of a program, by the line of the allocation, and its object
        file. With constants without unrolling, as traced: an instruction is then one reference."""
        sites = self.folder / f"{source.stem}.{'symbolic' if symbolic else 'constant'}"
        object_file = sites.with_suffix(sites.suffix + ".o")
        run([self.clang, "-O2", "-I", HERE, f"-fplugin={self.plugin}", f"-fplugin-arg-smalloc-machine={HERE}/machine.json",
             "-fplugin-arg-smalloc-first-touch=off", f"-fplugin-arg-smalloc-sites={sites}", "-DNEST_SYMBOLIC" if symbolic else "-fno-unroll-loops", "-c", source,
             "-o", object_file])
        table = defaultdict(list)
        for file in sites.glob("*.json"):
            for site in json.loads(file.read_text(encoding="utf-8"))["sites"]:
                table[site["line"]].append(site)
        return table, object_file

    def asking(self, source, object_file):
        """Returns the lines whose sites request superpages as the program runs."""
        program, output = self.folder / f"{source.stem}.asking", self.folder / f"{source.stem}.asked"
        run([self.cxx, object_file, self.asked, "-o", program])
        output.touch()
        run([program], env=dict(os.environ, ORACLE_ASKED=str(output)))
        return {int(line) for line in output.read_text(encoding="utf-8").split()}

    def traced(self, source):
        """Returns the traced accesses of the program: its sites by line, and what each instruction
        does to each."""
        program, object_file = self.folder / source.stem, self.folder / f"{source.stem}.o"
        # Without -fno-builtin loops would become calls that the tracer does not see; unrolling
        # would only repeat instructions.
        run([self.clang, "-O2", "-g1", "-fno-builtin", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops",
             "-fno-pie", "-I", HERE, "-include", HERE / "traced.h",
             "-fsanitize-coverage=func,no-prune,trace-loads,trace-stores", "-c", source, "-o", object_file])
        run([self.cxx, "-no-pie", object_file, self.tracer, "-o", program])
        output = self.folder / f"{source.stem}.trace"
        environment = dict(os.environ, ORACLE_OUTPUT=str(output), ORACLE_ENTRIES=str(self.host["entries"]),
                           ORACLE_STREAM=str(self.host["stream"]))
        run([program], env=environment)
        trace = json.loads(output.read_text(encoding="utf-8"))
        if trace["accesses"]:
            places = json.loads(run(["llvm-symbolizer-22", "--output-style=JSON", f"--obj={program}",
                                     *(hex(a["pc"] - 1) for a in trace["accesses"])]))
            for access, place in zip(trace["accesses"], places):
                at = place["Symbol"][0]
                access.update(function=at["FunctionName"], source_line=at["Line"], column=at["Column"])
        return trace

    def pays(self, site, accesses):
        """True if superpages save a cycle an access, at some place that returns to its pages."""
        if site["bytes"] < SUPERPAGE:
            return False
        places = defaultdict(lambda: defaultdict(int))
        for a in accesses:
            place = places[a["function"], a["source_line"], a["column"]]
            for key in ("accesses", "exposed", "superpage_misses"):
                place[key] += a[key]
            place["pages"] = max(place["pages"], a["pages"])
        for place in places.values():
            saving = (place["exposed"] * walk_cycles(self.host, place["pages"]) -
                      place["superpage_misses"] * self.host["near"]) / place["accesses"]
            if saving >= MIN_SAVING_CYCLES and place["accesses"] / place["pages"] >= MIN_ACCESSES_PER_PAGE:
                return True
        return False

    def compare(self, source):
        trace = self.traced(source)
        (constant, _), (symbolic, symbolic_object) = self.predicted(source, False), self.predicted(source, True)
        asking = self.asking(source, symbolic_object)
        affine = source.stem not in NOT_AFFINE
        result = {"name": source.stem, "affine": affine, "references": [], "misses": [], "sites": [], "unmatched": 0, "gone": 0}
        for site in trace["sites"]:
            line = site["line"]
            accesses = [a for a in trace["accesses"] if a["line"] == line]
            truth = self.pays(site, accesses)
            for kind, table in (("constant", constant), ("symbolic", symbolic)):
                if not table[line]: # the optimiser removed the allocation
                    result["gone"] += 1
                    continue
                # An object smaller than a superpage cannot lie on one, whatever the decision.
                asks = line in asking if kind == "symbolic" else any(
                    p["decision"] == "superpage" or
                    (p["decision"] == "runtime" and p["min_bytes"] is not None and site["bytes"] >= p["min_bytes"])
                    for p in table[line])
                predicted = site["bytes"] >= SUPERPAGE and asks
                result["sites"].append({"line": line, "kind": kind, "truth": truth, "predicted": predicted,
                                        "why": table[line][0]["why"]})
            by_function = defaultdict(lambda: {"predicted": 0.0, "known": True})
            seen = set()
            for p in constant[line]:
                for r in p["references"]:
                    group = by_function[r["function"]]
                    if "pages" not in r:
                        group["known"] = False
                        continue
                    group["predicted"] += r["misses_per_access"] * r["accesses"]
                    here = [a for a in accesses if (a["function"], a["source_line"], a["column"]) ==
                            (r["function"], r["line"], r["column"])]
                    if not here:
                        result["unmatched"] += 1
                        continue
                    place = (line, r["function"], r["line"], r["column"])
                    if place in seen: # several references to one place: a[i] += ..., or copies of a loop
                        continue
                    seen.add(place)
                    truth_pages = max(a["pages"] for a in here)
                    result["references"].append({
                        "line": line, "function": r["function"], "at": f"{r['line']}:{r['column']}",
                        "predicted": r["pages"], "truth": truth_pages,
                        "error": abs(round(r["pages"]) - truth_pages) / truth_pages})
            for function, group in by_function.items():
                here = [a for a in accesses if a["function"] == function]
                if group["known"] and here:
                    total = sum(a["accesses"] for a in here)
                    result["misses"].append({"line": line, "function": function, "accesses": total,
                                             "predicted": group["predicted"], "truth": sum(a["misses"] for a in here),
                                             "conflict": sum(a["conflict_misses"] for a in here)})
        return result


def miss_is_right(m):
    difference = abs(m["predicted"] - m["truth"])
    return difference <= MISSES_WITHIN * m["truth"] or difference / m["accesses"] < 0.01


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(q * len(values)) - 1)] if values else math.nan


def summary(results):
    errors = [r["error"] for p in results if p["affine"] for r in p["references"]]
    misses = [m for p in results if p["affine"] for m in p["misses"]]
    sites = [s for p in results for s in p["sites"]]
    return {"programs": len(results), "affine_programs": sum(p["affine"] for p in results),
            "references": len(errors), "pages_error_median": quantile(errors, 0.5), "pages_error_p95": quantile(errors, 0.95),
            "pages_error_worst": max(errors, default=math.nan),
            "unmatched": sum(p["unmatched"] for p in results),
            "misses_compared": len(misses), "misses_right": sum(map(miss_is_right, misses)),
            "verdicts": len(sites), "verdicts_right": sum(s["truth"] == s["predicted"] for s in sites),
            "verdicts_positive": sum(s["truth"] for s in sites)}


def table(results):
    lines = ["| program | affine | references | pages: worst error | misses right | verdicts right |", "|---|---|---|---|---|---|"]
    for p in results:
        worst = max((r["error"] for r in p["references"]), default=None)
        right = sum(s["truth"] == s["predicted"] for s in p["sites"])
        lines.append(f"| {p['name']} | {'yes' if p['affine'] else 'no'} | {len(p['references'])} | "
                     f"{'-' if worst is None else f'{100 * worst:.1f} %'} | "
                     f"{sum(map(miss_is_right, p['misses']))} of {len(p['misses'])} | {right} of {len(p['sites'])} |")
    return "\n".join(lines)


def page(report):
    """Returns the section of docs/internals/spread.md."""
    total = report["summary"]
    return "\n".join([
        f"{total['programs']} programs, {total['affine_programs']} of them affine; {total['references']} references compared: error "
        f"of distinct pages median {100 * total['pages_error_median']:.1f} %, 95th percentile {100 * total['pages_error_p95']:.1f} %, "
        f"worst {100 * total['pages_error_worst']:.1f} %. Misses of a function at a site within a quarter of the truth, or of a "
        f"hundredth an access: {total['misses_right']} of {total['misses_compared']}. Verdicts right: {total['verdicts_right']} of "
        f"{total['verdicts']} ({100 * total['verdicts_right'] / total['verdicts']:.1f} %), {total['verdicts_positive']} of which are "
        "superpages.", "", table(report["programs"]), "", "Made by `tests/oracle/oracle.py --record FILE`.", "",
        "Wrong verdicts:" if total["verdicts_right"] < total["verdicts"] else "No verdict is wrong.",
        *([""] if total["verdicts_right"] < total["verdicts"] else []),
        *(f"- {p['name']}, line {s['line']}, sizes {'constant' if s['kind'] == 'constant' else 'known at run time'}: "
          f"{'superpages' if s['predicted'] else 'base pages'}, should be {'superpages' if s['truth'] else 'base pages'}"
          for p in report["programs"] for s in p["sites"] if s["truth"] != s["predicted"])])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build")
    parser.add_argument("--clang", default=os.environ.get("CLANG", "clang-22"))
    parser.add_argument("--cxx", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--only", action="append", help="a program of nests/ (may be repeated)")
    parser.add_argument("--record", type=Path, help="write the results as JSON")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true", help="each comparison that differs")
    options = parser.parse_args()
    sources = sorted((HERE / "nests").glob("*.c"))
    if options.only:
        sources = [s for s in sources if s.stem in options.only]
    if not sources:
        print("oracle.py: error: --only: no such program in tests/oracle/nests", file=sys.stderr)
        return 2
    folder = tempfile.mkdtemp(prefix="smalloc-oracle.")
    try:
        oracle = Oracle(options, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(oracle.compare, sources))
    except (RuntimeError, OSError) as error:
        print(f"oracle.py: error: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    total = summary(results)
    print(table(results))
    if options.verbose:
        for p in results:
            for r in p["references"]:
                if r["error"] > 0:
                    print(f"pages   {p['name']}:{r['at']} ({r['function']}, site {r['line']}): predicted {r['predicted']:.1f}, true {r['truth']}")
            for m in p["misses"]:
                if not miss_is_right(m):
                    print(f"misses  {p['name']} ({m['function']}, site {m['line']}): predicted {m['predicted']:.0f}, "
                          f"true {m['truth']} of {m['accesses']} accesses")
            for s in p["sites"]:
                if s["truth"] != s["predicted"]:
                    print(f"verdict {p['name']}:{s['line']} ({s['kind']}): predicted {s['predicted']}, true {s['truth']}: {s['why']}")
    print(f"\n{total['references']} references of {total['affine_programs']} affine programs: error of distinct pages "
          f"median {100 * total['pages_error_median']:.1f} %, 95th percentile {100 * total['pages_error_p95']:.1f} %, "
          f"worst {100 * total['pages_error_worst']:.1f} %; {total['unmatched']} without an instruction of their place")
    print(f"misses right: {total['misses_right']} of {total['misses_compared']}; "
          f"verdicts right: {total['verdicts_right']} of {total['verdicts']} ({total['verdicts_positive']} should be superpages)")
    if options.record:
        options.record.write_text(result_rows.rows({"schema": "smalloc.oracle/1", "summary": total, "programs": results}) + "\n",
                                  encoding="utf-8")
    if options.only:
        return 0
    missed = []
    if total["programs"] < LEAST_NESTS or total["references"] < 2 * LEAST_NESTS:
        missed.append("too few nests were compared")
    if total["pages_error_median"] != 0:
        missed.append("the median error of distinct pages is not 0")
    if not total["pages_error_p95"] <= PAGES_P95:
        missed.append(f"the 95th percentile of the error of distinct pages is above {100 * PAGES_P95:.0f} %")
    if total["verdicts"] < 6 * LEAST_NESTS or total["verdicts_positive"] < LEAST_NESTS:
        missed.append("too few verdicts were compared")
    if total["misses_right"] < MISSES_RIGHT * total["misses_compared"] or total["misses_compared"] < 3 * LEAST_NESTS:
        missed.append(f"fewer than {100 * MISSES_RIGHT:.0f} % of the misses are right, or too few were compared")
    if total["verdicts_right"] < VERDICTS_RIGHT * total["verdicts"]:
        missed.append(f"fewer than {100 * VERDICTS_RIGHT:.0f} % of the verdicts are right")
    for what in missed:
        print(f"FAIL: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
