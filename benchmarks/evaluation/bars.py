# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bars.py draws grouped bars: a group of bars a label, a colour a series."""

from pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED

SKY, YELLOW = "#56b4e9", "#f0e442"  # of the same palette
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
PAPER = {"facecolor": "none", "edgecolor": GREY, "hatch": "////", "linewidth": 0.6}  # the source's own numbers


def grouped(axes, labels, series, width=0.8):
    """series: name -> (values in the order of labels, None where there is none; style of axes.bar)."""
    step = width / len(series)
    for place, (name, (values, style)) in enumerate(series.items()):
        at = [i + (place - (len(series) - 1) / 2) * step for i, value in enumerate(values) if value is not None]
        axes.bar(at, [value for value in values if value is not None], width=0.92 * step, label=name, **style)
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color=GREY, linewidth=0.8)


def legend_above(axes, columns, **options):
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
        **options
    )


def panels_below_legend(drawing, columns, rows_of_legend=1, **options):
    """Returns a part for a legend of all panels, and the panels below it."""
    height = drawing.get_size_inches()[1]
    top, below = drawing.subfigures(2, 1, height_ratios=[0.26 * rows_of_legend, height - 0.26 * rows_of_legend])
    return top, below.subplots(1, columns, **options)


def fill_legend(top, axes, columns):
    top.legend(*axes.get_legend_handles_labels(), loc="center", ncol=columns, handlelength=1.4, columnspacing=1.2)
