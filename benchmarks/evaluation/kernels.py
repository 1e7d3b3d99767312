# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernels.py has the trials that several figures share: rankings and exact misses of the kernels."""
import argparse
from functools import partial

import evaluate
from evaluation.lab import ROOT

PROGRAMS = {source.split(".")[0]: (source, recorded, others) for source, recorded, others in evaluate.PROGRAMS}
# Most of those with several mappings: a ranking of one has no order.
QUICK = ("colsum", "list", "stream", "transpose", "unordered_map", "vector_gather")


def ranked(mode):
    return QUICK if mode == "quick" else tuple(PROGRAMS)


def rank(name, lab):
    """Predicted and exact savings of each mapping, for the recorded input and for others (scripts/evaluate.py)."""
    options = argparse.Namespace(build=lab.build, clang=lab.clang, symbolizer=lab.symbolizer, machine=lab.preset["name"], rate=1,
                                 program=[name])
    with lab.folder() as folder:
        return evaluate.evaluate(options, folder)[0]


def ranking_trials(mode):
    for name in ranked(mode):
        yield f"ranking/{name}", partial(rank, name)


def misses_key(tlb, name, arguments):
    return f"exact/{tlb}/{name}/{'/'.join(arguments)}"


def misses(tlb, name, arguments, lab):
    return lab.exact_misses(f"kernels/{PROGRAMS[name][0]}", arguments, lab.tlb_of("core2" if tlb == "core2" else None))


def misses_trial(tlb, name, arguments):
    return misses_key(tlb, name, arguments), partial(misses, tlb, name, arguments)


def time_trials(names_and_inputs, rounds):
    """Runs of kernels on base pages and with everything on superpages, in turn."""
    for number in range(1, rounds + 1):
        for name, arguments in names_and_inputs:
            for pages in ("base", "superpages"):
                yield f"time/{name}/{'/'.join(arguments)}/{pages}/round-{number}", partial(run, name, arguments, pages)


def run(name, arguments, pages, lab):
    source = PROGRAMS[name][0] if name in PROGRAMS else f"{name}.c"
    assert (ROOT / "benchmarks" / "kernels" / source).exists(), source
    # base: glibc; superpages: smalloc with its whole heap on superpages.
    return lab.run_program({"name": name, "source": f"kernels/{source}"}, arguments, "base" if pages == "base" else "ours-superpage")
