# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mappings.py times programs with one allocation site at a time on superpages."""
import json
from functools import partial

import bench_runs
import evaluate
from evaluation.lab import ROOT

# Source, arguments, arguments of --quick. The recording has the small input of scripts/evaluate.py: it only names the sites.
PROGRAMS = {
    "colsum": ("colsum.c", ["30000"], ["12000"]),
    "stream": ("stream.c", ["300", "8"], ["150", "4"]),
    "transpose": ("transpose.c", ["8000", "3"], ["5000", "2"]),
    "list": ("list.c", ["4000000", "65536", "2"], ["1500000", "65536", "1"]),
    "vector_gather": ("vector_gather.cpp", ["20000000", "4", "1"], ["5000000", "4", "1"]),
}
MOST_SITES = 3


def compile_with(lab, name, kind, option):
    source = ROOT / "benchmarks" / "kernels" / PROGRAMS[name][0]
    driver = [lab.clang, "--driver-mode=g++"] if source.suffix == ".cpp" else [lab.clang]
    return lab.compile(f"{kind}/{name}", [*driver, "-O2", "-g1", f"-fplugin={lab.plugin}", f"-fplugin-arg-smalloc-{option}", source, "-lm"],
                       [source])


def find_sites(name, lab):
    """The sites with the most accesses, from a recording of a small input."""
    recorder = compile_with(lab, name, "recorder", "profile-generate")
    words = next(recorded for source, recorded, _ in evaluate.PROGRAMS if source == PROGRAMS[name][0])
    with lab.folder() as folder:
        lab.call([lab.smalloc, "record", "-q", "--rate", "1", "-o", folder / "t.trace", "--", recorder, *words], folder)
        report = json.loads(lab.call([lab.smalloc, "analyze", folder / "t.trace", "--no-db", "--json", "-q"], folder).stdout)
    sites = [(m["category"], m["accesses"]) for m in report["mappings"] if m["steerable"] and m["category"]["kind"] == "site"]
    sites.sort(key=lambda site: -site[1])
    return {"sites": [{"id": c["id"], "name": f"{c['function']}:{c['line']}"} for c, _ in sites[:MOST_SITES]]}


def run_round(name, number, lab):
    """One run of each mapping, in an order that turns with the rounds: same heaps, only the pages differ."""
    program = compile_with(lab, name, "rewritten", "rewrite=all")
    arguments = PROGRAMS[name][2 if lab.mode == "quick" else 1]
    sites = lab.known[f"sites/{name}"]["sites"]
    ways = ["base", *(site["name"] for site in sites), "all"]
    turn = number % len(ways)
    result = {}
    with lab.folder() as folder:
        for way in ways[turn:] + ways[:turn]:
            pages = {site["id"]: "2m" if way in ("all", site["name"]) else "base" for site in sites}
            lines = [f"{site} page={page} rank={int(page == '2m')} pmb=100 superpages=1 numa=-" for site, page in sorted(pages.items())]
            file = folder / "directives"
            file.write_text("\n".join(["# smalloc.directives/1", *lines, ""]), encoding="utf-8")
            conf = f"directives:{file},validate:off" + (",pages:base" if way == "base" else "")
            bench_runs.warm(lab.warm_bytes.get(name, 0))
            numbers = bench_runs.run_once([str(program), *arguments], {"LD_PRELOAD": str(lab.library), "SMALLOC_CONF": conf}, None)
            lab.warm_bytes[name] = max(lab.warm_bytes.get(name, 0), numbers["peak_rss_bytes"] * 3 // 2)
            result[way] = {what: numbers[what] for what in ("user_seconds", "system_seconds", "superpages", "minor_faults")}
    return result


def trials(rounds):
    for name in PROGRAMS:
        yield f"sites/{name}", partial(find_sites, name)
    for number in range(1, rounds + 1):
        for name in PROGRAMS:
            yield f"mappings/{name}/round-{number}", partial(run_round, name, number)
