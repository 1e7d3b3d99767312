# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time saved by migration, by source of the counts."""

from evaluation import numa

NAME = "tikir-table7"
SECTION = numa.SECTION
TITLE = "Time saved by migration, by source of the counts"
SOURCE = "Tikir and Hollingsworth 2008, table 7 (moves of the simulation repeated on a Sun Fire 6800)"
CAPTION = (
    numa.HOW + " Time is that of the simulator's memory system, summed over the processors, with 2 µs a move. "
    "The source repeated its "
    "simulated moves on the real machine; this machine has one node, so nothing was measured here."
)
SIZE = (8.4, 5.2)
trials = numa.trials


def rows(results, mode):
    table = numa.by_source(results, mode, "faster_percent")
    for row in table:
        paper = numa.PAPER_FASTER.get(row["kernel"])
        row["paper_faster_percent"] = paper[numa.SOURCES.index(row["source"])] if paper else None
    return table


def draw(drawing, table):
    panels = drawing.subplots(2, 1, sharex=True)
    numa.draw_by_source(panels, table, "faster_percent", "time saved (%)", "the source's own programs, measured")


def says(table):
    mean = numa.mean_by_source(table, "faster_percent")
    slower = sorted(
        {f"{row['kernel']} by {numa.TITLES[row['source']]}" for row in table if row["faster_percent"] < -0.1}
    )
    paper = [value for values in numa.PAPER_FASTER.values() for value in values]
    there = f"in the source's measurements {sum(value < 0 for value in paper)} of {len(paper)} were"
    words = [
        f"In the mean sampled cache misses save {mean['cache-misses']:.1f} % of the memory time, perfect counts "
        f"{mean['perfect']:.1f} %, TLB "
        f"misses {mean['tlb-misses']:.1f} %.",
        (
            f"No source makes a kernel slower in the model; {there}."
            if not slower
            else f"Slower in the model: {', '.join(slower)}; {there}."
        ),
    ]
    return words
