# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Benefit of each base mapping against the superpages that it needs."""
from evaluation import kernels, marks
import evaluate

NAME = "cascaval-fig3"
SECTION = "Cascaval et al. 2005"
TITLE = "Benefit of each mapping against its superpages"
SOURCE = "Cascaval et al. 2005, figure 3 (benefit ranking of galgel)"
CAPTION = ("A mapping puts one allocation site on superpages, the rest stays on base pages. PMB: its saving in percent of the best "
           "mapping's. Predicted: smalloc analyze, from a recording; exact: each load and store in an exact TLB simulator, not by a PMU. Both are "
           "priced with the curve of this machine's preset.")
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
                found.append({"program": name, "mapping": site, "superpages": report["predicted"]["superpages"][site],
                              "predicted_pmb": predicted[site], "exact_pmb": exact[site]})
    return found


def draw(drawing, table):
    names = list(dict.fromkeys(row["program"] for row in table))
    columns = 3
    for place, name in enumerate(names):
        axes = drawing.add_subplot(-(-len(names) // columns), columns, place + 1)
        own = [row for row in table if row["program"] == name]
        where = [row["superpages"] for row in own]
        axes.plot(where, [row["exact_pmb"] for row in own], "s", color=marks.GREY, markersize=9, label="exact")
        axes.plot(where, [row["predicted_pmb"] for row in own], "o", color=marks.BLUE, markersize=5, label="predicted")
        axes.set(title=name, ylim=(-8, 112), xlim=(0, 1.25 * max(where)))
        if place % columns == 0:
            axes.set_ylabel("PMB, %")
        if place >= len(names) - columns:
            axes.set_xlabel("superpages")
    drawing.axes[0].legend(loc="lower left", fontsize=8)


def says(table):
    off = max(table, key=lambda row: abs(row["predicted_pmb"] - row["exact_pmb"]))
    return [f"{len(table)} mappings of {len({row['program'] for row in table})} programs are shown; a mapping's place tells what its superpages are worth.",
            f"The prediction is farthest from the exact simulation at {off['mapping']} of {off['program']}: "
            f"{off['predicted_pmb']:.1f} % against {off['exact_pmb']:.1f} %."]
