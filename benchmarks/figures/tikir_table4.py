# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time with migration, moved pages, and what moving them costs."""

from evaluation import numa
from evaluation.bars import BLUE, ORANGE, PAPER, grouped, legend_above

NAME = "tikir-table4-fig3"
SECTION = numa.SECTION
TITLE = "Time with page migration, and the price of the moves"
SOURCE = "Tikir and Hollingsworth 2008, table 4 and figure 3 (execution times on a Sun Fire 6800)"
CAPTION = (
    numa.HOW + " This machine has one node, so no time was measured: times are those of the simulator's memory "
    "system, summed over the "
    "processors, with moves and page walks in them. A move costs 2 µs as on current machines; \"ft, 85 µs\" "
    "repeats ft with the price that "
    "the source's FT paid (15.1 s for 177,602 pages). The source's times are measured ones of whole programs, "
    "so only signs compare."
)
SIZE = (8.4, 4.6)
trials = numa.trials


def row_of(label, trial, policies, paper):
    found = {"kernel": label}
    for name, policy in (("dominant_node", "paper"), ("smalloc", "smalloc")):
        scheme, original = (policies[policy]["schemes"][s] for s in ("cache-misses", "first-touch"))
        found.update(
            {
                f"{name}_faster_percent": scheme["faster_percent"],
                f"{name}_moves": scheme["moved_base_pages"],
                f"{name}_moves_percent_of_pages": 100 * scheme["moved_base_pages"] / trial["smalloc"]["pages"],
                f"{name}_overhead_percent": 100 * scheme["move_ms"] / original["total_ms"],
            }
        )
    if paper:
        original, migrated, moves, overhead = paper
        found.update(
            {
                "paper_faster_percent": 100 * (1 - migrated / original),
                "paper_moves": moves,
                "paper_overhead_percent": 100 * overhead / original,
            }
        )
    return found


def rows(results, mode):
    found = []
    for kernel in numa.KERNELS:
        trial = results[numa.key(kernel, mode)]
        found.append(row_of(kernel, trial, trial, numa.PAPER_TIMES[kernel]))
        if "dear" in trial:
            found.append(row_of(f"{kernel}, {numa.study.DEAR_NS // 1000} µs", trial, trial["dear"], None))
    return found


def draw(drawing, table):
    gain, moves = drawing.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    labels = [row["kernel"].replace(", ", "\n") for row in table]
    for axes, what in ((gain, "faster_percent"), (moves, "overhead_percent")):
        grouped(
            axes,
            labels,
            {
                "source's policy, simulated": ([row[f"dominant_node_{what}"] for row in table], {"color": ORANGE}),
                "smalloc's policy, simulated": ([row[f"smalloc_{what}"] for row in table], {"color": BLUE}),
                "paper, measured": ([row.get(f"paper_{what}") for row in table], PAPER),
            },
        )
    for axes, what, low, high in ((gain, "faster_percent", -25, 25), (moves, "overhead_percent", 0, 20)):
        axes.set_ylim(low, high)  # a bar that leaves the picture has its value beside it
        for place, row in enumerate(table):
            value = row[f"dominant_node_{what}"]
            if not low <= value <= high:
                axes.annotate(
                    f"{value:.0f} %",
                    (place - 0.12, low if value < low else high),
                    ha="left",
                    fontsize=8,
                    va="bottom" if value < low else "top",
                    color=ORANGE,
                )
    gain.set_ylabel("time saved (%)")
    moves.set_ylabel("time in moves (%)")
    legend_above(gain, 3)


def says(table):
    slower = [row["kernel"] for row in table if row["smalloc_faster_percent"] < -0.1]
    dominant = [row for row in table if row["dominant_node_faster_percent"] < -0.1]
    words = [
        (
            "With smalloc's policy no kernel gets slower in the model."
            if not slower
            else f"smalloc's policy makes {', '.join(slower)} slower in the model, so its benefit test fails there."
        ),
        (
            "The source's policy, which moves without a test, makes "
            + ", ".join(f"{row['kernel']} {-row['dominant_node_faster_percent']:.1f} % slower" for row in dominant)
            + "."
            if dominant
            else "The source's policy makes none slower either."
        ),
    ]
    behind = [
        row["kernel"] for row in table if row["smalloc_faster_percent"] < row["dominant_node_faster_percent"] - 0.3
    ]
    return words + ([f"smalloc's policy gains less than the source's in {', '.join(behind)}."] if behind else [])
