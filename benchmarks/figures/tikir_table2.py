# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Non-local accesses without and with migration."""

from evaluation import numa
from evaluation.bars import BLUE, GREY, ORANGE, PAPER, grouped, legend_above

NAME = "tikir-table2"
SECTION = numa.SECTION
TITLE = "Non-local accesses without and with page migration"
SOURCE = "Tikir and Hollingsworth 2008, table 2 (NAS benchmarks with 12 threads on a Sun Fire 6800)"
CAPTION = (
    numa.HOW + " Counts come from sampled cache misses, every second one. The source's policy moves each page "
    "to the node that used it "
    "most; smalloc's also asks whether the move pays. The source's own numbers are of its machine, its "
    "programs and their sizes."
)
SIZE = (8.4, 3.8)
trials = numa.trials


def rows(results, mode):
    found = []
    for kernel in numa.KERNELS:
        trial = results[numa.key(kernel, mode)]
        ours, dominant = trial["smalloc"]["schemes"], trial["paper"]["schemes"]
        found.append(
            {
                "kernel": kernel,
                "transactions": trial["smalloc"]["transactions"],
                "first_touch_percent": ours["first-touch"]["remote_percent"],
                "dominant_node_percent": dominant["cache-misses"]["remote_percent"],
                "smalloc_percent": ours["cache-misses"]["remote_percent"],
                "smalloc_reduction_percent": ours["cache-misses"]["reduction_percent"],
                "dominant_node_reduction_percent": dominant["cache-misses"]["reduction_percent"],
                "paper_without_percent": numa.PAPER_REMOTE[kernel][0],
                "paper_with_percent": numa.PAPER_REMOTE[kernel][1],
            }
        )
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()

    def column(name):
        return [row[name] for row in table]

    grouped(
        axes,
        [row["kernel"] for row in table],
        {
            "first touch": (column("first_touch_percent"), {"color": GREY}),
            "source's policy": (column("dominant_node_percent"), {"color": ORANGE}),
            "smalloc's policy": (column("smalloc_percent"), {"color": BLUE}),
            "paper: without": (column("paper_without_percent"), PAPER),
            "paper: with migration": (column("paper_with_percent"), {**PAPER, "hatch": "xxxx"}),
        },
    )
    axes.set_ylabel("non-local accesses (%)")
    legend_above(axes, 5)


def says(table):
    def mean(what):
        return sum(row[what] for row in table) / len(table)

    paper = sum(100 * (1 - row["paper_with_percent"] / row["paper_without_percent"]) for row in table) / len(table)
    words = [
        f"smalloc's policy removes {mean('smalloc_reduction_percent'):.1f} % of the non-local accesses in the "
        f"mean of the kernels; the "
        f"source removed {paper:.1f} % of its programs'.",
        f"The source's policy on the same traces removes {mean('dominant_node_reduction_percent'):.1f} %.",
    ]
    behind = [
        f"{row['kernel']} ({row['smalloc_percent']:.0f} against {row['dominant_node_percent']:.0f} %)"
        for row in table
        if row["smalloc_percent"] > row["dominant_node_percent"] + 1
    ]
    if behind:
        words.append(
            f"smalloc's policy, which moves fewer pages, leaves more accesses non-local in " f"{', '.join(behind)}."
        )
    return words
