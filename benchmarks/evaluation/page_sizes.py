# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""page_sizes.py has the trials of the figures after Korn and Chang: programs of benchmarks/suite.json under
the page sizes that this system has (smalloc study), and the same programs under today's allocators and
under smalloc. Each run of these begins on memory that the guest has (bench_runs.warm)."""

import json
import math
from functools import partial

from evaluation import rounds
from evaluation.lab import ROOT

SECTION = "Korn and Chang 2007"
# Like the source's, one group computes with integers and pointers and one with floating point.
GROUPS = {
    "integer": ("bfs", "hash_probe", "list", "unordered_map", "lz"),
    "floating point": ("spmv", "colsum", "vector_gather", "stream", "bodies"),
}
MORE = {
    "integer": ("gups", "tree", "csr_graph", "ordered_map", "hash_join"),
    "floating point": ("transpose", "grid", "conjugate_gradient", "fft", "particles"),
}
QUICK = {
    "bfs": ["19", "4"],
    "hash_probe": ["23"],
    "list": ["1000000"],
    "unordered_map": ["800000"],
    "lz": ["4"],
    "spmv": ["19", "25"],
    "colsum": ["20000"],
    "vector_gather": ["3000000"],
    "stream": ["100", "4"],
    "bodies": ["200", "400"],
}
PEERS = {
    "base": "glibc, base pages",
    "thp": "glibc, hugetlb=1",
    "jemalloc-thp": "jemalloc, thp:always",
    "mimalloc": "mimalloc",
}
OWN = {
    "preload-superpage": "2 MiB for everything",
    "preload": "smalloc, not recompiled",
    "ours": "smalloc with the plugin",
}
TITLES = {
    "base": "base pages",
    "64k": "64 KiB",
    "thp": "2 MiB for everything",
    "auto": "smalloc's choice",
    "hugetlb": "2 MiB of the pool",
    "1g": "1 GiB of the pool",
}
COMPARED = ("64k", "thp", "auto")  # with base pages, where the system has them

# Korn and Chang, POWER5+, 16 MiB pages against 4 KiB. Table 4: geometric means and the best of the speed-ups.
PAPER_SPEED = {"integer": {"64k": 1.071, "16m": 1.079}, "floating point": {"64k": 1.103, "16m": 1.111}}
PAPER_BEST = {"64k": 1.469, "16m": 1.509}
# Appendix A: MB at most with 4 KiB and with 16 MiB pages, in the order of its rows.
PAPER_MAXIMUM = (
    (571, 577),
    (847, 864),
    (924, 929),
    (838, 848),
    (19, 33),
    (39, 49),
    (175, 177),
    (96, 112),
    (66, 80),
    (118, 129),
    (304, 321),
    (323, 325),
    (873, 897),
    (7, 49),
    (670, 673),
    (484, 495),
    (13, 17),
    (623, 1011),
    (122, 129),
    (45, 49),
    (634, 641),
    (604, 625),
    (2, 17),
    (159, 161),
    (829, 836),
    (33, 33),
    (409, 416),
    (692, 703),
    (67, 81),
)


def repeats(mode):
    return 3 if mode == "quick" else 7


def programs(mode):
    """(group, program of the suite with its arguments)."""
    suite = {
        p["name"]: p for p in json.loads((ROOT / "benchmarks" / "suite.json").read_text(encoding="utf-8"))["programs"]
    }
    for group, names in GROUPS.items():
        for name in names + (MORE[group] if mode == "full" else ()):
            yield group, {**suite[name], "args": QUICK[name] if mode == "quick" else suite[name]["args"]}


def key(program, mode):
    return "/".join(["study", program["name"], *program["args"], str(repeats(mode))])


def study(program, lab):
    command = lab.compile_bench(program, "plain") + program["args"]
    report = json.loads(
        lab.call(
            [lab.smalloc, "study", "-q", "-r", repeats(lab.mode), "--interval", "0.1", "--json", "--", *command]
        ).stdout
    )
    return {
        "results": {r.pop("configuration"): r for r in report["commands"][0]["results"]},
        "skipped": report["skipped"],
        "no_events": report["no_events"],
    }


def peer_key(program, configuration):
    return "/".join(["peer", program["name"], *program["args"], configuration])


def peer(program, configuration, lab):
    if configuration not in lab.configurations:
        return {"missing": True}
    run = lab.run_program(program, program["args"], configuration)
    return {what: run[what] for what in ("user_seconds", "system_seconds", "peak_rss_bytes", "superpages", "in_effect")}


def study_trials(mode):
    for _, program in programs(mode):
        yield key(program, mode), partial(study, program)


def trials(mode):
    yield from study_trials(mode)
    yield from run_trials(mode)


def run_trials(mode):
    for number in range(1, repeats(mode) + 1):
        for _, program in programs(mode):
            for configuration in (*PEERS, *OWN):
                yield f"{peer_key(program, configuration)}/round-{number}", partial(peer, program, configuration)


def peer_values(results, program, configuration, what):
    """Of the rounds in which the configuration was there and took effect."""
    found = rounds.values_of(results, peer_key(program, configuration), lambda numbers: numbers)
    return [what(n) for n in found if not n.get("missing") and n["in_effect"]]


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None
