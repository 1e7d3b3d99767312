# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cycles by cause on base pages and on superpages."""

import json
import re
from functools import partial
from pathlib import Path

import evaluate
from evaluation import page_sizes
from evaluation.bars import BLUE, GREEN, GREY, ORANGE, fill_legend, panels_below_legend
from evaluation.lab import ROOT

NAME = "korn-fig1-fig2"
SECTION = page_sizes.SECTION
TITLE = "Cycles by cause on base pages and on superpages"
SOURCE = "Korn and Chang 2007, figures 1 and 2 (CPI stacks of 471.omnetpp and 410.bwaves on a POWER5+)"
CAPTION = (
    "Cycles an instruction by cause, all stacks of a program divided by its cycles on base pages. Where the "
    "picture says \"counted\", they "
    "are those of the processor's counters (smalloc study). Where it says \"modelled\", there is no counter: "
    "data cache, branches and "
    "instructions are callgrind's, priced as KCachegrind prices them (an instruction 1 cycle, a miss of the "
    "first level or of a branch "
    "10, of the last one 100; the last level is this machine's second one), and they are the same for both "
    "page sizes by construction. "
    "Translation is the misses of the exact TLB simulator, priced with the walk costs of the machine profile "
    "without an overlap. A "
    "model: its shares are not those of a real processor, which overlaps misses."
)
SIZE = (8.4, 3.8)
PARTS = {"other": GREY, "branches": GREEN, "data cache": ORANGE, "translation": BLUE}
# One program computes with integers, one with floating point, as in the source. Their data exceed the TLB's reach.
PROGRAMS = {
    "hash_probe": ("kernels/hash_probe.c", {"quick": ["21"], "full": ["23"]}),
    "vector_gather": ("kernels/vector_gather.cpp", {"quick": ["1000000", "2", "1"], "full": ["4000000", "4", "1"]}),
}
PAPER = {
    "471.omnetpp": {
        "4 KiB": {"translation": 11.4, "data cache": 31.3},
        "64 KiB": {"translation": 0.3, "data cache": 27.7},
    },
    "410.bwaves": {
        "4 KiB": {"translation": 14.1, "data cache": 32.4},
        "64 KiB": {"translation": 0.08, "data cache": 17.5},
    },
}
PAPER_CPI = {"471.omnetpp": {"4 KiB": 100, "64 KiB": 84.7}, "410.bwaves": {"4 KiB": 100, "64 KiB": 68.3}}
SECOND_LEVEL = Path("/sys/devices/system/cpu/cpu0/cache/index2")


def last_level():
    """callgrind's option for this machine's second cache level; nothing where the kernel does not describe it."""
    try:
        kib, ways, line = (
            (SECOND_LEVEL / name).read_text(encoding="ascii").strip()
            for name in ("size", "ways_of_associativity", "coherency_line_size")
        )
    except OSError:
        return []
    return [f"--LL={int(kib.rstrip('K')) * 1024},{ways},{line}"]


def modelled(name, lab):
    """Cycles of each cause by the two simulators, and the instructions."""
    source, arguments = PROGRAMS[name][0], PROGRAMS[name][1][lab.mode]
    path = ROOT / "benchmarks" / source
    driver = [lab.clang, "--driver-mode=g++"] if path.suffix == ".cpp" else [lab.clang]
    plain = lab.compile(f"callgrind/{name}", [*driver, *evaluate.FLAGS, path, "-lm"], [path])
    with lab.folder() as folder:
        out = folder / "callgrind.out"
        lab.call(
            [
                "valgrind",
                "--tool=callgrind",
                "--cache-sim=yes",
                "--branch-sim=yes",
                *last_level(),
                f"--callgrind-out-file={out}",
                plain,
                *arguments,
            ]
        )
        text = out.read_text(encoding="utf-8", errors="replace")
    names, counts = (re.search(rf"^{word}: (.*)$", text, re.M)[1].split() for word in ("events", "summary"))
    count = dict(zip(names, map(int, counts)))
    costs = evaluate.Costs(lab.preset)
    done = lab.call([lab.compile_exact(source), *arguments], TLB=costs.tlb, SITES="0:0")
    lanes = json.loads(done.stderr.splitlines()[-1])["lanes"]

    def walks(lane):
        return costs.walks(
            evaluate.BASE_BYTES, lane["base_misses"], lane["base_distances"], lane["base_pages"]
        ) + costs.walks(evaluate.SUPERPAGE_BYTES, lane["super_misses"], lane["super_distances"], lane["super_pages"])

    return {
        "instructions": count["Ir"],
        "machine": lab.preset["name"],
        "cycles": {
            "other": count["Ir"],
            "branches": 10 * (count["Bcm"] + count["Bim"]),
            "data cache": 10 * (count["I1mr"] + count["D1mr"] + count["D1mw"])
            + 100 * (count["ILmr"] + count["DLmr"] + count["DLmw"]),
        },
        "translation": {"base": walks(lanes[0]), "thp": walks(lanes[-1])},
        "misses": {"base": lanes[0]["base_misses"], "thp": lanes[-1]["base_misses"] + lanes[-1]["super_misses"]},
    }


def studied(mode):
    return {program["name"]: program for _, program in page_sizes.programs(mode) if program["name"] in PROGRAMS}


def trials(mode):
    for name, program in studied(mode).items():
        yield page_sizes.key(program, mode), partial(page_sizes.study, program)
        yield "/".join(["cpi", name, *PROGRAMS[name][1][mode]]), partial(modelled, name)


def rows(results, mode):
    found = []
    for name, program in studied(mode).items():
        counted = {
            c: r["cpi_stack"]
            for c, r in results[page_sizes.key(program, mode)]["results"].items()
            if c in ("base", "thp")
        }
        if all(counted.values()):
            for configuration, stack in counted.items():
                found += [
                    {
                        "program": name,
                        "how": "counted",
                        "configuration": configuration,
                        "part": part["name"],
                        "normalised": part["cpi"],
                    }
                    for part in stack["parts"]
                ]
            continue
        trial = results["/".join(["cpi", name, *PROGRAMS[name][1][mode]])]
        base = sum(trial["cycles"].values()) + trial["translation"]["base"]
        for configuration in ("base", "thp"):
            parts = {**trial["cycles"], "translation": trial["translation"][configuration]}
            found += [
                {
                    "program": name,
                    "how": "modelled",
                    "configuration": configuration,
                    "part": part,
                    "normalised": parts[part] / base,
                    "cycles": parts[part],
                    "instructions": trial["instructions"],
                    "tlb_misses": trial["misses"][configuration],
                }
                for part in PARTS
            ]
    return found


def draw(drawing, table):
    top, panels = panels_below_legend(drawing, 2, sharey=True)
    for axes, name, paper in zip(panels, PROGRAMS, PAPER):
        own = [row for row in table if row["program"] == name]
        labels = {"base": "base\npages", "thp": "super-\npages"}
        bottom = dict.fromkeys(labels, 0)
        for part in dict.fromkeys(row["part"] for row in own):
            heights = [
                100 * sum(r["normalised"] for r in own if (r["configuration"], r["part"]) == (c, part)) for c in labels
            ]
            axes.bar(
                range(2), heights, bottom=list(bottom.values()), color=PARTS.get(part, "#bbbbbb"), label=part, width=0.7
            )
            bottom = {c: bottom[c] + h for c, h in zip(labels, heights)}
        for place, (size, shares) in enumerate(PAPER[paper].items()):
            rest = PAPER_CPI[paper][size] - sum(shares.values())
            start = 0
            for part, share in {
                "other": rest,
                "data cache": shares["data cache"],
                "translation": shares["translation"],
            }.items():
                axes.bar(
                    [2.5 + place], [share], bottom=[start], color="none", edgecolor=PARTS[part], hatch="////", width=0.7
                )
                start += share
        axes.set_xticks([0, 1, 2.5, 3.5], [*labels.values(), *(f"paper:\n{size}" for size in PAPER[paper])])
        axes.set_title(f"{name}, {own[0]['how']}; paper: {paper}", fontsize=10)
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("cycles (%), base pages = 100")
    fill_legend(top, panels[0], 4)


def says(table):
    words = []
    for name in PROGRAMS:
        share = {
            row["configuration"]: 100 * row["normalised"]
            for row in table
            if row["program"] == name and row["part"] == "translation"
        }
        how = next(row["how"] for row in table if row["program"] == name)
        words.append(
            f"{name}: translation takes {share['base']:.1f} % of the cycles on base pages and "
            f"{share['thp']:.1f} % on superpages ({how})."
        )
    return words + ["In the source it took 11.4 and 14.1 % on 4 KiB, and less than 0.4 % on 64 KiB pages."]
