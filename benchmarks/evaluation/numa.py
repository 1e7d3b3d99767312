# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""numa.py has the trials of the figures after Tikir and Hollingsworth: the kernels of scripts/numa-study,
recorded with 12 threads and played on the six boards of the paper's machine. One trial a kernel serves
all of these figures. The paper's own numbers are facts of its machine, drawn beside the simulated ones."""

import json
import re
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from evaluation.bars import COLOURS, GREY, PAPER, grouped, legend_above
from evaluation.lab import ROOT


def load_script(name):
    """A script without .py as a module."""
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


study = load_script("numa-study")
SECTION = "Tikir and Hollingsworth 2008"
SOURCES = study.SOURCES
TITLES = {
    "interconnect": "interconnect",
    "cache-misses": "cache misses",
    "tlb-misses": "TLB misses",
    "tlb-content": "TLB content",
    "atc": "ATC",
    "perfect": "perfect",
}
# Size, steps, intervals. The grids of bt, ft and sp keep their size: smaller ones fit the caches.
QUICK = {
    "bt": (64, 4, 16),
    "cg": (6000, 50, 40),
    "ep": (32768, 480, 120),
    "ft": (64, 12, 24),
    "lu": (44, 24, 48),
    "mg": (48, 16, 30),
    "sp": (64, 3, 16),
}
FULL = {name: (size, steps, intervals) for name, size, steps, intervals in study.KERNELS}
KERNELS = list(FULL)
HOW = (
    f"Each kernel of benchmarks/numa is named after a NAS benchmark of the source, and runs with 12 threads; one "
    f"thread initialises all "
    f"data. Its loads and stores are recorded and played by smalloc numa simulate on the source's Sun Fire 6800: "
    f"six boards, 225 ns to "
    f"local and 300 ns to remote memory, caches made {study.SHRINK} times smaller and TLBs {study.TLB} times, as "
    f"the kernels are smaller."
)

# Tikir and Hollingsworth, on a Sun Fire 6800. Table 2: non-local accesses in percent, without and with migration.
PAPER_REMOTE = {
    "bt": (40.9, 25.3),
    "cg": (80.9, 15.3),
    "ep": (85.4, 28.2),
    "ft": (64.2, 29.6),
    "lu": (41.2, 33.1),
    "mg": (80.5, 8.3),
    "sp": (55.0, 22.7),
}
# Table 4: seconds without and with migration, pages moved, seconds of moving.
PAPER_TIMES = {
    "bt": (996, 966, 112310, 11.8),
    "cg": (625, 534, 47213, 4.4),
    "ep": (293, 292, 2071, 0.3),
    "ft": (113, 118, 177602, 15.1),
    "lu": (1981, 1978, 132696, 13.1),
    "mg": (31, 26, 49884, 2.7),
    "sp": (3901, 3347, 138943, 17.1),
}
# Simulated there, in the order of SOURCES. Table 6 (a): reduction in percent; (b): pages moved;
# Table 7: percent faster.
PAPER_REDUCTION = {
    "bt": (30.1, 30.9, 12.1, 26.9, 33.0, 33.3),
    "cg": (82.7, 85.0, 66.5, 85.2, 85.8, 85.3),
    "ft": (13.6, 14.3, 6.6, 16.7, 16.9, 17.1),
    "lu": (16.5, 19.3, -9.6, 0.8, 3.3, 21.3),
    "mg": (81.7, 84.0, 42.6, 87.2, 87.3, 87.6),
    "sp": (21.7, 22.0, 9.3, 19.1, 21.0, 23.4),
}
PAPER_MOVES = {
    "bt": (34529, 31422, 36472, 17298, 14122, 15730),
    "cg": (18828, 18920, 18524, 19823, 19308, 19344),
    "ft": (190313, 214605, 98320, 156180, 155578, 181632),
    "lu": (22881, 21177, 19492, 8589, 4897, 10241),
    "mg": (51361, 52435, 34009, 49102, 48552, 48397),
    "sp": (35420, 34453, 40571, 25035, 25233, 24814),
}
PAPER_FASTER = {
    "bt": (-1.0, -0.8, -1.7, 0.2, 0.8, 0.9),
    "cg": (8.4, 8.4, 6.5, 8.5, 8.6, 8.5),
    "ft": (-0.2, -1.8, -0.1, -2.4, -1.3, -1.5),
    "lu": (-0.8, -1.0, -0.9, -0.1, 0.4, 0.3),
    "mg": (16.5, 15.8, 13.1, 18.1, 18.3, 18.0),
    "sp": (5.5, 5.8, 2.8, 7.1, 7.6, 7.2),
}
# Table 1: mean error over the processors, and the share of transactions that is sampled, in percent.
PAPER_SAMPLING = {
    "max-rate": (0.56, 17.56),
    4096: (0.02, 0.19),
    1024: (0.02, 0.78),
    256: (0.02, 3.07),
    64: (0.11, 9.75),
}


def page_map(folder, build, trace, intervals):
    """The node of each page at the end of each interval, out of the report's page."""
    page = folder / "report.html"
    study.play(build, trace, intervals, "-o", str(page), verb="report")
    data = json.loads(re.search(r"^const D = (\{.*\});?$", page.read_text(encoding="utf-8"), re.M)[1])
    return {"nodes": data["nodes"], "frames": [{"without": f["a"], "with": f["b"]} for f in data["frames"]]}


def play(kernel, size, steps, intervals, lab):
    with lab.folder() as folder:
        trace = study.record(ROOT, lab.build, kernel, size, steps, folder)

        def simulated(*options):
            document = json.loads(study.play(lab.build, trace, intervals, "--json", *options))
            schemes = {s.pop("name"): s for s in document["schemes"]}
            for scheme in schemes.values():
                scheme.pop("remote_percent_per_interval")
            return {
                "pages": document["pages"],
                "transactions": document["transactions"],
                "tlb_misses": document["tlb_misses"],
                "move_page_ns": document["machine"]["move_page_ns"],
                "schemes": schemes,
            }

        found = {
            "size": size,
            "steps": steps,
            "intervals": intervals,
            **{p: simulated("--policy", p) for p in ("smalloc", "paper")},
        }
        if kernel == "ft":
            found["dear"] = {p: simulated("--policy", p, "--move-ns", str(study.DEAR_NS)) for p in ("smalloc", "paper")}
        if kernel == "mg":
            found["map"] = page_map(folder, lab.build, trace, intervals)
        return found


def sizes(mode):
    return QUICK if mode == "quick" else FULL


def key(kernel, mode):
    return "numa/" + "/".join(str(word) for word in (kernel, *sizes(mode)[kernel]))


def trials(mode, kernels=tuple(KERNELS)):
    for kernel in kernels:
        yield key(kernel, mode), partial(play, kernel, *sizes(mode)[kernel])


def by_source(results, mode, what):
    """A row a kernel and source: a number of smalloc's simulation."""
    return [
        {"kernel": kernel, "source": source, what: results[key(kernel, mode)]["smalloc"]["schemes"][source][what]}
        for kernel in KERNELS
        for source in SOURCES
    ]


def draw_by_source(panels, table, what, label, title_of_paper):
    """Bars of each kernel by source: smalloc's numbers in the first panel, the paper's in the second."""
    for axes, column, title in zip(panels, (what, f"paper_{what}"), ("", title_of_paper)):
        series = {
            TITLES[source]: (
                [row[column] for row in table if row["source"] == source],
                {**PAPER, "edgecolor": colour} if title else {"color": colour},
            )
            for source, colour in zip(SOURCES, (*COLOURS[:5], GREY))
        }
        grouped(axes, KERNELS, series)
        axes.set_ylabel(label)
        if title:
            axes.set_title(title)
            axes.tick_params(labelbottom=True)
        else:
            legend_above(axes, 6)


def mean_by_source(table, what):
    return {source: sum(row[what] for row in table if row["source"] == source) / len(KERNELS) for source in SOURCES}


def sampling(size, steps, lab):
    """Errors of ways of sampling, for the kernel cg as in the source."""
    source = ROOT / "benchmarks" / "evaluation" / "sampling_error.cpp"
    libraries = [
        lab.build / "lib" / f"lib{name}.a" for name in ("smalloc_numa", "smalloc_numa_policy", "smalloc_trace")
    ]
    program = lab.compile(
        "sampling_error",
        [
            lab.clang,
            "--driver-mode=g++",
            "-std=c++20",
            "-O2",
            f"-I{ROOT}",
            source,
            *libraries,
            "-lzstd",
            "-lhwloc",
            "-lfmt",
        ],
        [source, *libraries],
    )
    with lab.folder() as folder:
        trace = study.record(ROOT, lab.build, "cg", size, steps, folder)
        return json.loads(lab.call([program, trace, "sun-fire-6800", study.SHRINK, study.TLB]).stdout)
