# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""suite.py has the trials of the suite's programs in the configurations of scripts/bench.py."""
import json
from functools import partial

import bench_table
from evaluation.lab import ROOT
from evaluation.marks import CONFIGURATIONS

QUICK = ("hash_join", "grid", "sparse_matrix", "kd_tree", "string_map")


def programs(mode):
    every = json.loads((ROOT / "benchmarks" / "suite.json").read_text(encoding="utf-8"))["programs"]
    return [p for p in every if p.get("group") == "programs" and (mode == "full" or p["name"] in QUICK)]


def run(program, configuration, lab):
    """One run. A configuration that is not installed here, and an output that differs, are errors."""
    if configuration not in lab.configurations:
        return {"absent": True}
    numbers = lab.run_program(program, program["quick" if lab.mode == "quick" else "args"], configuration)
    first = lab.known.get(f"suite/{program['name']}/base/round-1")
    if first and first["output_sha256"] != numbers["output_sha256"]:
        raise RuntimeError(f"{program['name']}: the output under '{configuration}' differs from that of base pages")
    return numbers


def trials(mode):
    for number in range(1, (3 if mode == "quick" else 5) + 1):
        for program in programs(mode):
            for configuration in CONFIGURATIONS:
                yield f"suite/{program['name']}/{configuration}/round-{number}", partial(run, program, configuration)


def measured(results, mode):
    """The programs as scripts/bench_peers.py has them, without configurations that are not installed."""
    found = []
    for program in programs(mode):
        runs = {}
        for configuration in CONFIGURATIONS:
            number = 1
            while (own := results.get(f"suite/{program['name']}/{configuration}/round-{number}")):
                if not own.get("absent"):
                    runs.setdefault(configuration, []).append(own)
                number += 1
        found.append({"name": program["name"], "runs": runs, "results": {key: bench_table.summarise(own) for key, own in runs.items()}})
    return found
