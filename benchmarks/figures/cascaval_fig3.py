# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benefit of each base mapping against the superpages that it needs."""

from evaluation import kernels, marks
from evaluation.bars import fill_legend
import evaluate

NAME = "cascaval-fig3"
SECTION = "Cascaval et al. 2005"
TITLE = "Benefit of each mapping against its superpages"
SOURCE = "Cascaval et al. 2005, figure 3 (benefit ranking of galgel)"
CAPTION = (
    "A mapping puts one allocation site on superpages, the rest stays on base pages. PMB: its saving in percent of "
    "the best "
    "mapping's. Predicted: smalloc analyze, from a recording; exact: each load and store in an exact TLB "
    "simulator, not by a PMU. Both are "
    "priced with the curve of this machine's preset."
)
SIZE = (8.4, 4.6)


def trials(mode):
    yield from kernels.ranking_trials(mode)


def rows(results, mode):
    found = []
    for name in kernels.ranked(mode):
        report = results[f"ranking/{name}"]
        predicted, exact = (evaluate.pmb(report[side]["saved"]) for side in ("predicted", "truth"))
        for site in predicted:
            if site in exact and len(set(predicted) & set(exact)) > 1:
                found.append(
                    {
                        "program": name,
                        "mapping": site,
                        "superpages": report["predicted"]["superpages"][site],
                        "predicted_pmb": predicted[site],
                        "exact_pmb": exact[site],
                    }
                )
    return found


def draw(drawing, table):
    from matplotlib import ticker  # pylint: disable=import-outside-toplevel

    names = list(dict.fromkeys(row["program"] for row in table))
    columns = 3
    top, below = drawing.subfigures(2, 1, height_ratios=[0.3, SIZE[1] - 0.3])
    for place, name in enumerate(names):
        axes = below.add_subplot(-(-len(names) // columns), columns, place + 1)
        own = [row for row in table if row["program"] == name]
        where = [row["superpages"] for row in own]
        for side, colour, marker, size in (
            ("exact", marks.GREY, "s", 9),
            ("predicted", marks.BLUE, "o", 5),
        ):
            pmb = [row[f"{side}_pmb"] for row in own]
            axes.plot(where, pmb, marker, color=colour, markersize=size, label=side)
        axes.set(title=name, ylim=(-8, 112), xlim=(0, 1.25 * max(where)))
        axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=5, integer=True))
        if place % columns == 0:
            axes.set_ylabel("PMB, %")
        if place >= len(names) - columns:
            axes.set_xlabel("superpages")
    fill_legend(top, below.axes[0], 2)


def says(table):
    off = max(table, key=lambda row: abs(row["predicted_pmb"] - row["exact_pmb"]))
    return [
        f"{len(table)} mappings of {len({row['program'] for row in table})} programs are shown; a mapping's place "
        "tells what its superpages are worth.",
        f"The prediction is farthest from the exact simulation at {off['mapping']} of {off['program']}: "
        f"{off['predicted_pmb']:.1f} % against {off['exact_pmb']:.1f} %.",
    ]
