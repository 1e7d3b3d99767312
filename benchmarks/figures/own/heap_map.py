# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of a heap on base pages and on superpages, without and with smalloc."""

from functools import partial
from itertools import groupby

import bench_runs
from evaluation import heap_map, marks
from evaluation.bars import panels_below_legend

NAME = "smalloc-heap-map"
SECTION = "smalloc's own"
TITLE = "Superpages in the heap of one program"
SOURCE = "smalloc's own figure"
CAPTION = (
    "benchmarks/mixed/mixed.c with a part of its default sizes. It fills arrays and small objects, "
    "and writes one page in 64 of an archive and one in 32 of a history. It was stopped when all "
    "of them were live. A cell is a unit of 2 MiB that has pages in memory, in the order of "
    "addresses; PAGEMAP_SCAN (Linux 6.7) says which of them the kernel has mapped as superpages. "
    "Left: glibc without transparent superpages; middle: smalloc with heap:superpage; right: "
    "smalloc with the plugin, at its defaults."
)
SIZE = (8.4, 4.6)
PROGRAM = {"name": "mixed", "source": "mixed/mixed.c"}
PERCENT = {"quick": 10, "full": 25}  # of the program's default sizes
STOP = "steps"  # the line after which all objects are filled and live
MIB_OF_PERCENT = 40  # memory that a percent needs on superpages
WAYS = {
    "base": "base pages",
    "ours-superpage": "all on superpages",
    "ours": "smalloc",
}
UNITS_OF_ROW, PAGES_OF_UNIT = 16, 512
LIGHT, DARK = "#dddddd", "#444444"  # a unit with few base pages, and with all of them
SHOWN = (PAGES_OF_UNIT, 128, 8)  # base pages of a unit, in the legend


def look(configuration, percent, lab):
    """Returns the units of the heap: [base pages, superpage pages], in 4 KiB."""
    _, variant, environment = lab.configurations[configuration]
    bench_runs.warm(percent * MIB_OF_PERCENT << 20)
    command = [*lab.compile_bench(PROGRAM, variant), str(percent)]
    return heap_map.stop_at(command, STOP, environment, configuration == "base")


def trials(mode):
    for way in WAYS:
        key = f"heap-map/{PROGRAM['name']}/{PERCENT[mode]}/{way}"
        yield key, partial(look, way, PERCENT[mode])


def rows(results, mode):
    return [
        {"configuration": way, "unit": unit, "base_pages": base, "superpage": int(large > 0)}
        for way in WAYS
        for unit, (base, large) in enumerate(
            results[f"heap-map/{PROGRAM['name']}/{PERCENT[mode]}/{way}"]
        )
    ]


def mib(table, way):
    """Returns the MiB of a configuration in memory: on base pages, on superpages."""
    own = [row for row in table if row["configuration"] == way]
    return sum(row["base_pages"] for row in own) / 256, 2 * sum(row["superpage"] for row in own)


def draw_map(axes, own, greys):
    """Draws the units of one configuration: neighbours of one colour in a row as one bar, and the
    borders of the cells above them."""
    colours = [
        marks.BLUE if row["superpage"] else greys(row["base_pages"] / PAGES_OF_UNIT) for row in own
    ]
    height = -(-len(colours) // UNITS_OF_ROW)
    for number in range(height):
        column = 0
        row = colours[number * UNITS_OF_ROW : (number + 1) * UNITS_OF_ROW]
        for colour, same in groupby(row):
            width = len(list(same))
            axes.broken_barh([(column, width)], (number, 1), facecolors=[colour])
            column += width
    axes.vlines(range(UNITS_OF_ROW + 1), 0, height, colors="white", linewidth=0.6)
    axes.hlines(range(height + 1), 0, UNITS_OF_ROW, colors="white", linewidth=0.6)
    axes.set(xlim=(0, UNITS_OF_ROW), ylim=(height, 0), xlabel="unit of 2 MiB in a row")
    axes.grid(False)
    axes.set_xticks([0, 8, 16])
    ticks = range(0, height + 1, 4)
    axes.set_yticks(ticks, [2 * UNITS_OF_ROW * tick for tick in ticks])


def draw(drawing, table):
    from matplotlib import colors, patches  # pylint: disable=import-outside-toplevel

    greys = colors.LinearSegmentedColormap.from_list("greys", [LIGHT, DARK])
    top, panels = panels_below_legend(drawing, len(WAYS), sharey=True)
    for axes, (way, title) in zip(panels, WAYS.items()):
        draw_map(axes, [row for row in table if row["configuration"] == way], greys)
        axes.set_title(f"{title}:\n{sum(mib(table, way)):.0f} MiB in memory")
    panels[0].set_ylabel("MiB of address space in use")
    handles = [patches.Patch(color=marks.BLUE, label="superpage")] + [
        patches.Patch(color=greys(pages / PAGES_OF_UNIT), label=f"{pages} of 512 base pages")
        for pages in SHOWN
    ]
    top.legend(handles=handles, loc="center", ncol=len(handles), handlelength=1.0)


def says(table):
    before, every, after = (mib(table, way) for way in WAYS)
    share = 100 * after[1] / sum(after)
    return [
        f"On base pages {sum(before):.0f} MiB of the heap are in memory. With everything on "
        f"superpages they are {sum(every):.0f} MiB, because one used page makes 2 MiB resident.",
        f"smalloc needs {sum(after):.0f} MiB and has {share:.0f} % of them on superpages; the "
        "archive and the history stay on base pages.",
    ]
