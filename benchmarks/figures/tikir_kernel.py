# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""smalloc's migration beside the kernel's own NUMA balancing, today's peer of the source's scheme."""

import json

from evaluation import numa
from evaluation.bars import BLUE, GREY, ORANGE, grouped, legend_above
from evaluation.lab import ROOT

NAME = "tikir-kernel-balancing"
SECTION = numa.SECTION
TITLE = "Migration beside the kernel's NUMA balancing"
SOURCE = "today's peer of the scheme of Tikir and Hollingsworth 2008: Linux' kernel.numa_balancing"
RECORDED = ROOT / "benchmarks" / "results" / "numa-balancing.json"
CAPTION = (
    "Not measured by this run: recorded earlier by scripts/numa-balancing in a QEMU guest of two nodes "
    "(benchmarks/results/"
    "numa-balancing.json), on another kernel and machine than the other figures. Remote: cache misses of the "
    "last second that the other "
    "node served, counted by QEMU's plugin. Each program runs for 15 s without migration, with the kernel's at "
    "its defaults, and with "
    "numa:migrate."
)
SIZE = (8.4, 4.2)
LABELS = {
    "far base 16": "one user on\nthe other node",
    "far thp 16": "the same on\nsuperpages",
    "halves thp 16": "a node each half\nof a superpage",
    "both base 16": "two nodes use\nevery page",
    "both thp 16": "the same on\nsuperpages",
    "wander base 8": "the user changes\nits node",
}
MODES = {"none": ("without", GREY), "kernel": ("kernel balancing", ORANGE), "smalloc": ("numa:migrate", BLUE)}


def recorded(_):
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def trials(_):
    yield "recorded/numa-balancing", recorded


def rows(results, _):
    report = results["recorded/numa-balancing"]
    return [{**run, "kernel_release": report["kernel"], "seconds": report["seconds"]} for run in report["runs"]]


def draw(drawing, table):
    remote, moved = drawing.subplots(2, 1, sharex=True)
    programs = list(dict.fromkeys(row["program"] for row in table))
    for axes, what in ((remote, "remote_percent"), (moved, "moved_pages")):
        grouped(
            axes,
            [LABELS.get(p, p) for p in programs],
            {
                title: (
                    [next(row[what] for row in table if (row["program"], row["mode"]) == (p, mode)) for p in programs],
                    {"color": colour},
                )
                for mode, (title, colour) in MODES.items()
            },
        )
    remote.set_ylabel("remote misses (%)")
    moved.set_ylabel("pages moved")
    moved.tick_params(axis="x", labelsize=8)
    legend_above(remote, 3)


def says(table):
    by = {(row["program"], row["mode"]): row for row in table}
    programs = list(dict.fromkeys(row["program"] for row in table))
    behind = [
        LABELS.get(p, p).replace("\n", " ")
        for p in programs
        if by[p, "smalloc"]["remote_percent"] > by[p, "kernel"]["remote_percent"] + 1
    ]
    fewer = sum(by[p, "smalloc"]["moved_pages"] < by[p, "kernel"]["moved_pages"] for p in programs)
    words = [
        f"numa:migrate moved fewer pages than the kernel in {fewer} of {len(programs)} programs.",
        f"Its last second had as few remote misses as the kernel's or fewer in {len(programs) - len(behind)} of "
        f"them.",
    ]
    return words + ([f"It left more accesses remote than the kernel in: {'; '.join(behind)}."] if behind else [])
