# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page spread of a loop beside the reach of the TLB, and the misses on both sides of it."""

import json
from functools import partial

from evaluation import marks
from evaluation.lab import ROOT

NAME = "smalloc-reach"
SECTION = "smalloc's own"
TITLE = "A loop misses the TLB once its page spread exceeds the reach"
SOURCE = "smalloc's own figure"
CAPTION = (
    "benchmarks/evaluation/column_walk.c sums the columns of a matrix. A row is one base page, so "
    "a column has one element in each page. Lines: the spread and the misses that the plugin "
    "predicts when it compiles the program (smalloc sites). Points: the pages and the misses that "
    "the exact TLB simulator counts, not a PMU, with the last-level TLB of this machine's preset. "
    "The misses are those of one pass over a matrix that is already in memory: of two passes less "
    "one."
)
SIZE = (8.4, 4.0)
SOURCE_FILE = "evaluation/column_walk.c"
COLUMNS = 512
MIB_OF_ROW = 4096 / 2**20


def sizes(mode):
    """Rows of the matrices, from 64 KiB to 32 MiB (quick) or 128 MiB (full)."""
    every = [16, 64, 256, 1024, 2048, 3072, 4096, 4160, 4224, 4288, 4352, 5120, 6144, 8192]
    return every if mode == "quick" else [*every, 16384, 32768]


def predict(rows_of_matrix, lab):
    """Returns the plugin's spread in base pages, its misses an access, and the reach in base
    pages. Raises RuntimeError if the program has not exactly one site."""
    source = ROOT / "benchmarks" / SOURCE_FILE
    options = ["-O2", "-g1", f"-fplugin={lab.plugin}", f"-DROWS={rows_of_matrix}"]
    name = f"spread/column_walk-{rows_of_matrix}"
    program = lab.compile(name, [lab.clang, *options, source], [source])
    report = json.loads(lab.call([lab.smalloc, "sites", program, "--json"]).stdout)
    if len(report["sites"]) != 1:
        raise RuntimeError(f"{name}: {len(report['sites'])} sites instead of one")
    site = report["sites"][0]
    return {
        "spread_pages": site["spread_pages"],
        "misses_per_access": site["misses_per_access"],
        "reach_pages": report["machine"]["reach_pages"],
    }


def count(rows_of_matrix, passes, lab):
    """Returns the misses and pages of a run in the exact TLB of this machine's preset."""
    return lab.exact_misses(SOURCE_FILE, [passes], lab.tlb_of(), [f"ROWS={rows_of_matrix}"])


def count_key(size, passes):
    return f"exact/this machine/column_walk/{size}/{passes}"


def trials(mode):
    for size in sizes(mode):
        yield f"spread/column_walk/{size}", partial(predict, size)
        for passes in (1, 2):
            yield count_key(size, passes), partial(count, size, passes)


def rows(results, mode):
    found = []
    for size in sizes(mode):
        predicted = results[f"spread/column_walk/{size}"]
        once, twice = (results[count_key(size, passes)] for passes in (1, 2))
        accesses = twice["accesses"] - once["accesses"]
        found.append(
            {
                "rows": size,
                "mib": size * MIB_OF_ROW,
                "reach_pages": predicted["reach_pages"],
                "predicted_spread": predicted["spread_pages"],
                "predicted_misses": predicted["misses_per_access"],
                "base_pages": once["base_pages"],
                "superpages": once["superpages"],
                "base_misses": (twice["base_misses"] - once["base_misses"]) / accesses,
                "superpage_misses": (twice["superpage_misses"] - once["superpage_misses"])
                / accesses,
            }
        )
    return found


def draw_series(axes, table, where, columns):
    """Draws a prediction, and what was counted on base pages and on superpages."""
    predicted, base, superpages = ([row[column] for row in table] for column in columns)
    axes.plot(where, predicted, color=marks.GREY, label="base pages, by the plugin")
    axes.plot(where, base, "s", color=marks.GREY, markersize=7, label="base pages, counted")
    axes.plot(where, superpages, "o", color=marks.BLUE, markersize=4, label="superpages, counted")


def draw_pages(axes, table, where):
    """Draws the pages of a column."""
    from matplotlib import ticker  # pylint: disable=import-outside-toplevel

    draw_series(axes, table, where, ("predicted_spread", "base_pages", "superpages"))
    reach = table[0]["reach_pages"]
    axes.axhline(reach, color=marks.RED, linestyle="--")
    words = {"textcoords": "offset points", "color": marks.RED}
    axes.annotate(f"reach of the TLB: {reach} pages", (where[0], reach), (0, 5), **words)
    axes.set(title="On base pages a column outgrows the TLB", ylabel="pages of a column")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(top=100 * reach)
    axes.legend(loc="upper left")
    for axis, step in ((axes.xaxis, 4), (axes.yaxis, 16)):
        axis.set_major_locator(ticker.LogLocator(base=step))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.0f}"))


def draw_misses(axes, table, where):
    """Draws the misses an access, close to the reach."""
    draw_series(axes, table, where, ("predicted_misses", "base_misses", "superpage_misses"))
    reach = table[0]["reach_pages"]
    axes.axvline(reach, color=marks.RED, linestyle="--")
    words = {"textcoords": "offset points", "color": marks.RED, "ha": "right"}
    axes.annotate("reach of the TLB", (reach, 0.5), (-6, 0), **words)
    axes.set(title="Beyond the reach every access misses", ylabel="TLB misses an access")
    axes.set(xlim=(0, 2.1 * reach), ylim=(-0.05, 1.1))


def draw(drawing, table):
    pages, misses = drawing.subplots(1, 2)
    where = [row["rows"] for row in table]
    draw_pages(pages, table, where)
    draw_misses(misses, table, where)
    for axes in (pages, misses):
        axes.set_xlabel("rows of the matrix (a row: 4 KiB)")


def says(table):
    reach = table[0]["reach_pages"]
    inside = max((row for row in table if row["rows"] <= reach), key=lambda row: row["rows"])
    beyond = next(row for row in table if row["base_misses"] > 0.99)
    told = next(row for row in table if row["predicted_misses"] > 0.99)
    last = table[-1]
    return [
        f"The TLB holds {reach} pages. On base pages a column of {inside['rows']} rows misses "
        f"{inside['base_misses']:.2f} times an access, one of {beyond['rows']} rows "
        f"{beyond['base_misses']:.2f} times. In between the sets of the TLB overflow one after the "
        f"other; the plugin predicts a miss for each access from {told['rows']} rows on.",
        f"On superpages {last['rows']} rows ({last['mib']:.0f} MiB) are {last['superpages']} "
        f"pages, and miss {last['superpage_misses']:.2f} times an access.",
    ]
