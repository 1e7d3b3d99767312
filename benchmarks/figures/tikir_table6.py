# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each source of counts is worth: non-local accesses removed, and pages moved."""

from evaluation import numa

NAME = "tikir-table6-fig6"
SECTION = numa.SECTION
TITLE = "Non-local accesses removed, by source of the counts"
SOURCE = (
    "Tikir and Hollingsworth 2008, tables 6 (a) and (b) and figure 6 (simulated Sun Fire 6800, six sources of counts)"
)
CAPTION = (
    numa.HOW
    + " Bars: reduction of non-local accesses with smalloc's policy; hatched: the source's simulation of its own "
    "programs and "
    "sizes (without EP). The numbers beside the picture have the pages moved as well."
)
SIZE = (8.4, 5.2)
trials = numa.trials


def rows(results, mode):
    table = numa.by_source(results, mode, "reduction_percent")
    for row in table:
        trial = results[numa.key(row["kernel"], mode)]["smalloc"]
        scheme, at = trial["schemes"][row["source"]], numa.SOURCES.index(row["source"])
        paper = row["kernel"] in numa.PAPER_REDUCTION
        row.update(
            {
                "first_touch_percent": trial["schemes"]["first-touch"]["remote_percent"],
                "remote_percent": scheme["remote_percent"],
                "moves": scheme["moved_base_pages"],
                "moves_to_perfect": scheme["moves_to_perfect"],
                "paper_reduction_percent": numa.PAPER_REDUCTION[row["kernel"]][at] if paper else None,
                "paper_moves": numa.PAPER_MOVES[row["kernel"]][at] if paper else None,
            }
        )
    return table


def draw(drawing, table):
    panels = drawing.subplots(2, 1, sharex=True, sharey=True)
    numa.draw_by_source(panels, table, "reduction_percent", "removed (%)", "the source's own programs and machine")


def says(table):
    mean = numa.mean_by_source(table, "reduction_percent")
    worst = min(mean, key=mean.get)
    by = {(row["kernel"], row["source"]): row["reduction_percent"] for row in table}
    gap = max(numa.KERNELS, key=lambda k: by[k, "perfect"] - by[k, "cache-misses"])
    words = [
        f"Sampled cache misses remove {mean['cache-misses']:.1f} % in the mean, perfect counts of the next interval "
        f"{mean['perfect']:.1f} %; "
        f"the widest gap is {by[gap, 'perfect'] - by[gap, 'cache-misses']:.1f} points ({gap}).",
        f"The worst source is {numa.TITLES[worst]} ({mean[worst]:.1f} %); the source of these tables found TLB "
        f"misses the worst.",
    ]
    worse = [f"{k} by {numa.TITLES[s]}" for k in numa.KERNELS for s in numa.SOURCES if by[k, s] < -0.5]
    return words + ([f"Migration makes more accesses non-local in {', '.join(worse)}."] if worse else [])
