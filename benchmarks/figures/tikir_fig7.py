# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages moved by interval in mg, by source of the counts."""

from itertools import accumulate

from evaluation import numa
from evaluation.bars import COLOURS, GREY

NAME = "tikir-fig7"
SECTION = numa.SECTION
TITLE = "Pages of mg moved by interval, by source of the counts"
SOURCE = "Tikir and Hollingsworth 2008, figure 7 (MG)"
CAPTION = (
    numa.HOW
    + " Pages of the kernel mg that smalloc's policy moved up to each interval. The source draws no numbers "
    "beside its curves."
)
SIZE = (7.6, 3.6)


def trials(mode):
    return numa.trials(mode, ("mg",))


def rows(results, mode):
    schemes = results[numa.key("mg", mode)]["smalloc"]["schemes"]
    return [
        {"source": source, "interval": at + 1, "moved": moved, "moved_so_far": total}
        for source in numa.SOURCES
        for at, (moved, total) in enumerate(
            zip(schemes[source]["moved_per_interval"], accumulate(schemes[source]["moved_per_interval"]))
        )
    ]


def draw(drawing, table):
    axes = drawing.add_subplot()
    for source, colour in zip(numa.SOURCES, (*COLOURS[:5], GREY)):
        own = [row for row in table if row["source"] == source]
        axes.plot(
            [row["interval"] for row in own],
            [row["moved_so_far"] for row in own],
            label=numa.TITLES[source],
            color=colour,
            drawstyle="steps-post",
            linestyle="--" if source == "perfect" else "-",
        )
    axes.set_xlabel("interval")
    axes.set_ylabel("pages moved so far")
    axes.legend()


def says(table):
    last = max(row["interval"] for row in table)
    total = {source: max(row["moved_so_far"] for row in table if row["source"] == source) for source in numa.SOURCES}
    third = {row["source"]: row["moved_so_far"] for row in table if row["interval"] == max(last // 3, 1)}
    early = {s: 100 * third[s] / total[s] for s in numa.SOURCES if total[s]}
    return [
        f"Cache misses make {early.get('cache-misses', 0):.0f} % of their moves in the first third of the "
        f"intervals, perfect counts "
        f"{early.get('perfect', 0):.0f} %.",
        f"TLB misses move {total['tlb-misses']} pages in all, perfect counts {total['perfect']}.",
    ]
