# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The node of each page of mg, without and with migration, and the pages that moved in each interval."""

import re

from evaluation import numa
from evaluation.bars import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, YELLOW, fill_legend

NAME = "tikir-fig4-fig5"
SECTION = numa.SECTION
TITLE = "The node of each page of mg"
SOURCE = "Tikir and Hollingsworth 2008, figures 4 and 5 (screens of a graphical monitor, MG)"
CAPTION = (
    numa.HOW + " A cell is a page of the kernel mg, in the order of addresses from left to right and from top "
    "to bottom; its colour is the "
    "node on which the page lies. smalloc numa report makes the same map as a page with a slider over the "
    "intervals."
)
SIZE = (8.4, 5.4)
COLOURS = ("#ffffff", BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW)  # untouched, and a node each
COLUMNS = 64


def trials(mode):
    return numa.trials(mode, ("mg",))


def nodes_of(letters):
    """The report's runs: a letter a page ('.' untouched, 'A' node 0), with a count behind it if there are several."""
    return [
        0 if letter == "." else ord(letter) - ord("A") + 1
        for letter, count in re.findall(r"([.A-Z])(\d*)", letters)
        for _ in range(int(count or 1))
    ]


def rows(results, mode):
    trial = results[numa.key("mg", mode)]
    frames = [{which: nodes_of(frame[which]) for which in ("without", "with")} for frame in trial["map"]["frames"]]
    found = []
    for interval, frame in enumerate(frames):
        before = frames[interval - 1] if interval else None
        for node in range(1, trial["map"]["nodes"] + 1):
            found.append(
                {
                    "interval": interval + 1,
                    "node": node - 1,
                    **{f"pages_{w}": frame[w].count(node) for w in ("without", "with")},
                    "moved_to": (
                        sum(now == node and then not in (0, node) for now, then in zip(frame["with"], before["with"]))
                        if before
                        else 0
                    ),
                }
            )
    touched = [(page, a, b) for page, (a, b) in enumerate(zip(frames[-1]["without"], frames[-1]["with"])) if a]
    return found + [{"page": page, "node_without": a - 1, "node_with": b - 1} for page, a, b in touched]


def draw_map(axes, pages, what):
    """Draws a cell for each page, in the colour of its node."""
    from matplotlib import colors  # pylint: disable=import-outside-toplevel

    cells = [row[what] + 1 for row in pages]
    cells += [0] * (-len(cells) % COLUMNS)
    axes.imshow(
        [cells[at : at + COLUMNS] for at in range(0, len(cells), COLUMNS)],
        cmap=colors.ListedColormap(COLOURS),
        vmin=0,
        vmax=len(COLOURS) - 1,
        interpolation="nearest",
        aspect="auto",
        extent=(0, COLUMNS, len(cells) // COLUMNS, 0),
    )
    axes.set_xlabel("page in the row")
    axes.set_xticks(range(0, COLUMNS + 1, 16))
    axes.grid(False)


def draw_moves(below, since, moves):
    """Draws the pages moved to each node, in each interval and in all."""
    last = max(row["interval"] for row in moves)
    bottom, total = [0] * last, 0
    for node in sorted({row["node"] for row in moves}):
        own = [row["moved_to"] for row in moves if row["node"] == node]
        style = {"color": COLOURS[node + 1]}
        below.bar(range(1, last + 1), own, bottom=bottom, label=f"node {node}", width=0.9, **style)
        since.bar([0], [sum(own)], bottom=[total], **style)
        bottom, total = [a + b for a, b in zip(bottom, own)], total + sum(own)
    below.set(xlabel="interval", ylabel="pages moved", xlim=(0.5, last + 0.5))
    since.set_xticks([0], ["since the start"])
    for axes in (below, since):
        axes.grid(axis="x", visible=False)


def draw(drawing, table):
    pages = [row for row in table if "page" in row]
    top, middle, bottom = drawing.subfigures(3, 1, height_ratios=[0.25, 3, 2])
    panels = middle.subplots(1, 2, sharey=True)
    for axes, what, title in (
        (panels[0], "node_without", "without migration"),
        (panels[1], "node_with", "with migration, at the end"),
    ):
        draw_map(axes, pages, what)
        axes.set_title(title)
    panels[0].set_ylabel(f"row of {COLUMNS} pages")
    below, since = bottom.subplots(1, 2, width_ratios=[5, 1])
    draw_moves(below, since, [row for row in table if "interval" in row])
    fill_legend(top, below, len(COLOURS) - 1)


def says(table):
    moves = [row for row in table if "interval" in row]
    last = max(row["interval"] for row in moves)
    pages = sum(row["pages_without"] for row in moves if row["interval"] == last)

    def most(what):
        return 100 * max(row[what] for row in moves if row["interval"] == last) / max(pages, 1)

    early = sum(row["moved_to"] for row in moves if row["interval"] <= last // 3)
    moved = sum(row["moved_to"] for row in moves)
    return [
        f"Without migration one node has {most('pages_without'):.0f} % of the pages; at the end of the run with "
        f"migration the fullest node "
        f"has {most('pages_with'):.0f} %.",
        f"{100 * early / max(moved, 1):.0f} % of the {moved} moves are in the first third of the intervals.",
    ]
