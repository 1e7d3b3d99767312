# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resident memory at most and on average, by page size and segment."""

from statistics import median

from evaluation import page_sizes
from evaluation.bars import BLUE, GREEN, GREY, ORANGE, PURPLE, fill_legend, panels_below_legend

NAME = "korn-appendix-a"
SECTION = page_sizes.SECTION
TITLE = "Resident memory by page size and segment"
SOURCE = (
    "Korn and Chang 2007, appendix A (SPEC CPU2006, average and maximum memory with 4 KiB, 64 KiB and 16 MiB pages)"
)
CAPTION = (
    "Resident memory of the runs of the table above, from /proc/PID/smaps at 0.02, 0.06 and 0.14 s and then ten "
    "times a second, as "
    "smalloc study samples it; the maximum is the kernel's own where that is larger. Left: the maximum by segment "
    "in percent of the "
    "maximum on base pages, for each program with base pages, 2 MiB superpages for everything, and smalloc's choice "
    "(from top to bottom); "
    "the cross is the average. Right: growth of the sum of all maxima, and of the program that grows most; today's "
    "allocators against "
    "glibc on base pages, smalloc's page sizes against its own heaps on base pages."
)
SIZE = (8.8, 5.6)
SEGMENTS = {"heap": BLUE, "static": ORANGE, "stack": PURPLE, "text": GREEN, "other": "#bbbbbb"}
MOST = 300  # percent; what is longer has its value beside it
trials = page_sizes.trials


def rows(results, mode):
    found = []
    for _, program in page_sizes.programs(mode):
        own = results[page_sizes.key(program, mode)]["results"]
        for configuration in ("base", *page_sizes.COMPARED):
            if configuration not in own:
                continue
            footprint = own[configuration]["footprint"]
            row = {
                "program": program["name"],
                "configuration": configuration,
                "average_bytes": footprint["average_bytes"],
                "maximum_bytes": footprint["maximum_bytes"],
            }
            for s in footprint["segments"]:
                row[f"{s['name']}_base_bytes"] = s["base_bytes"]
                row[f"{s['name']}_superpage_bytes"] = s["thp_bytes"] + s["hugetlb_bytes"]
            found.append(row)
        for peer in page_sizes.PEERS:
            peaks = page_sizes.peer_values(results, program, peer, lambda n: n["peak_rss_bytes"])
            if peaks:
                found.append(
                    {"program": program["name"], "configuration": f"peer {peer}", "maximum_bytes": median(peaks)}
                )
    return found


def growth(table):
    """Title -> (growth of the sum in percent, the largest growth of a program as a factor, its name)."""
    peaks = {(row["program"], row["configuration"]): row["maximum_bytes"] for row in table}
    found = {}
    for configuration in dict.fromkeys(row["configuration"] for row in table):
        kind, _, peer = configuration.partition(" ")
        base = "peer base" if peer else "base"
        pairs = [(peaks[p, base], peaks[p, c], p) for p, c in peaks if c == configuration and (p, base) in peaks]
        if configuration == base or not pairs:
            continue
        factor, worst = max((b / a, p) for a, b, p in pairs)
        found[page_sizes.PEERS[peer] if peer else page_sizes.TITLES[kind]] = (
            100 * (sum(b for _, b, _ in pairs) / sum(a for a, _, _ in pairs) - 1),
            factor,
            worst,
        )
    paper = page_sizes.PAPER_MAXIMUM
    found["paper, 16 MiB"] = (
        100 * (sum(b for _, b in paper) / sum(a for a, _ in paper) - 1),
        max(b / a for a, b in paper),
        "453.povray",
    )
    return found


def draw(drawing, table):
    top, (left, right) = panels_below_legend(drawing, 2, width_ratios=[3, 2])
    programs = list(dict.fromkeys(row["program"] for row in table))
    sizes = list(dict.fromkeys(row["configuration"] for row in table if "average_bytes" in row))
    for row in (row for row in table if "average_bytes" in row):
        whole = next(
            r["maximum_bytes"] for r in table if (r["program"], r["configuration"]) == (row["program"], "base")
        )
        y = programs.index(row["program"]) + 0.27 * (sizes.index(row["configuration"]) - (len(sizes) - 1) / 2)
        known = sum(row[f"{s}_base_bytes"] + row[f"{s}_superpage_bytes"] for s in SEGMENTS)
        start = 0
        for segment, colour in SEGMENTS.items():
            part = (
                100
                * (row[f"{segment}_base_bytes"] + row[f"{segment}_superpage_bytes"])
                / known
                * row["maximum_bytes"]
                / whole
            )
            left.barh(y, part, left=start, height=0.22, color=colour)
            start += part
        left.plot([min(100 * row["average_bytes"] / whole, MOST)], [y], "x", color="black", markersize=4)
        if start > MOST:
            left.annotate(f"{start:.0f} %", (MOST, y), ha="right", va="center", fontsize=8, color="white")
    for segment, colour in SEGMENTS.items():
        left.barh([0], [0], color=colour, label=segment)
    left.plot([], [], "x", color="black", markersize=4, label="average")
    left.axvline(100, color=GREY, linewidth=0.8)
    left.set_xlim(0, min(MOST, left.get_xlim()[1]))
    left.set_yticks(range(len(programs)), programs)
    left.invert_yaxis()
    left.grid(axis="y", visible=False)
    left.set_xlabel("resident memory (%), base pages' maximum = 100")
    fill_legend(top, left, 6)
    found = growth(table)
    for y, (title, (percent, factor, worst)) in enumerate(found.items()):
        right.barh(
            y, percent, height=0.6, color=GREY if title.startswith("paper") else BLUE if "smalloc" in title else ORANGE
        )
        right.annotate(
            f"{percent:+.1f} %; worst {factor:.2f}x\n({worst})",
            (max(percent, 0), y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    right.set_yticks(range(len(found)), found)
    right.invert_yaxis()
    right.set_xlim(right=2.2 * max(max(percent for percent, _, _ in found.values()), 1))
    right.set_xlabel("growth of the sum (%)")
    right.grid(axis="y", visible=False)


def says(table):
    found = growth(table)
    percent, factor, worst = found[page_sizes.TITLES["auto"]]
    whole, most, fattest = found[page_sizes.TITLES["thp"]]
    paper = found["paper, 16 MiB"]
    words = [
        f"Superpages for everything take {whole:+.1f} % memory in sum and {most:.2f} times as much in {fattest}; "
        f"the source's 16 MiB pages took "
        f"{paper[0]:+.1f} % and up to {paper[1]:.1f} times.",
        f"smalloc's choice takes {percent:+.1f} % in sum, and at most {factor:.2f} times as much ({worst}).",
    ]
    if factor > 1.05:
        words.append("So smalloc is behind base pages in memory there.")
    return words
