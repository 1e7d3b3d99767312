# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed-up over base pages, by page size and by allocator."""

from statistics import median

from evaluation import page_sizes, rounds
from evaluation.bars import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, fill_legend, panels_below_legend

NAME = "korn-table4"
SECTION = page_sizes.SECTION
TITLE = "Speed-up over base pages"
SOURCE = "Korn and Chang 2007, table 4 (SPEC CPU2006 on a POWER5+ with AIX, 64 KiB and 16 MiB pages)"
CAPTION = (
    "The same binary under each page size: smalloc study runs it in turn with every object of the same heaps "
    "on base pages, on 2 MiB "
    "superpages, and as smalloc chooses without a recompilation; 64 KiB pages only where the kernel's setting "
    "allows them. Today's "
    "allocators are compared with glibc on base pages. User and system time, medians; in a virtual machine the "
    "system time "
    "of a superpage depends on whether the host still has its memory. A hollow mark: the difference is within "
    "the "
    "spread of the runs, and counts as 1 in the geometric means. Dotted lines: the source's geometric means "
    "with 16 MiB pages, of its own "
    "programs and machine."
)
SIZE = (8.8, 4.6)
STYLES = {
    "64k": (GREEN, "^"),
    "thp": (ORANGE, "s"),
    "auto": (BLUE, "o"),
    "peer thp": (GREY, "v"),
    "peer jemalloc-thp": (PURPLE, "D"),
    "peer mimalloc": (RED, "P"),
}
trials = page_sizes.trials


def seconds(numbers):
    return numbers["user_seconds"] + numbers["system_seconds"]


def title_of(configuration):
    kind, _, peer = configuration.partition(" ")
    return page_sizes.PEERS[peer] if peer else page_sizes.TITLES[kind]


def rows(results, mode):
    found = []
    for group, program in page_sizes.programs(mode):
        own = results[page_sizes.key(program, mode)]["results"]
        for configuration in page_sizes.COMPARED:
            if configuration in own:
                r = own[configuration]
                found.append(
                    {
                        "group": group,
                        "program": program["name"],
                        "configuration": configuration,
                        "speedup": r["speedup"],
                        "user_speedup": own["base"]["user_seconds"] / r["user_seconds"],
                        "clear": not r["below_noise"],
                        "base_seconds": own["base"]["seconds"]["median"],
                    }
                )
        base = page_sizes.peer_values(results, program, "base", seconds)
        for peer in page_sizes.PEERS:
            times = page_sizes.peer_values(results, program, peer, seconds)
            if peer != "base" and times:
                found.append(
                    {
                        "group": group,
                        "program": program["name"],
                        "configuration": f"peer {peer}",
                        "speedup": median(base) / median(times),
                        "clear": rounds.compare(base, times)[0] is not None,
                        "base_seconds": median(base),
                    }
                )
    for group in page_sizes.GROUPS:
        for configuration in STYLES:
            ratios = [
                row["speedup"] if row["clear"] else 1
                for row in found
                if (row["group"], row["configuration"]) == (group, configuration)
            ]
            if ratios:
                found.append(
                    {
                        "group": group,
                        "program": "geometric mean",
                        "configuration": configuration,
                        "speedup": page_sizes.geometric_mean(ratios),
                        "clear": True,
                    }
                )
    return found


def draw(drawing, table):
    top, panels = panels_below_legend(drawing, 2, rows_of_legend=2, sharex=True)
    for axes, group in zip(panels, page_sizes.GROUPS):
        own = [row for row in table if row["group"] == group]
        names = list(dict.fromkeys(row["program"] for row in own))
        shown = [c for c in STYLES if any(row["configuration"] == c for row in own)]
        for place, configuration in enumerate(shown):
            colour, marker = STYLES[configuration]
            for row in (row for row in own if row["configuration"] == configuration):
                axes.plot(
                    [row["speedup"]],
                    [names.index(row["program"]) + 0.13 * (place - (len(shown) - 1) / 2)],
                    marker,
                    color=colour,
                    markersize=5,
                    markerfacecolor=colour if row["clear"] else "none",
                )
            axes.plot([], [], marker, color=colour, markersize=5, label=title_of(configuration))
        axes.axvline(1, color=GREY, linewidth=0.8)
        axes.axvline(page_sizes.PAPER_SPEED[group]["16m"], color=GREY, linestyle=":", label="paper, mean with 16 MiB")
        axes.axhline(len(names) - 1.5, color=GREY, linewidth=0.5)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_title(group)
        axes.set_xlabel("speed, base pages = 1")
    fill_legend(top, panels[0], 4)


def says(table):
    mean = {(row["group"], row["configuration"]): row["speedup"] for row in table if row["program"] == "geometric mean"}
    words = [
        "Geometric means "
        + "; ".join(
            f"{group}: {mean[group, 'thp']:.2f} with 2 MiB for everything, {mean[group, 'auto']:.2f} with smalloc's "
            f"choice (the source: "
            f"{page_sizes.PAPER_SPEED[group]['16m']:.2f} with 16 MiB)"
            for group in page_sizes.GROUPS
        )
        + "."
    ]
    user = {
        configuration: page_sizes.geometric_mean(
            [row["user_speedup"] for row in table if row["configuration"] == configuration and "user_speedup" in row]
        )
        for configuration in ("thp", "auto")
    }
    words.append(
        f"In user time alone, without the first touch of pages, the means of all "
        f"programs are {user['thp']:.2f} and {user['auto']:.2f}, not tested against the spread."
    )
    slower = [
        f"{row['program']} ({title_of(row['configuration'])}, {row['speedup']:.2f})"
        for row in table
        if row["clear"] and row["speedup"] < 1 and row["program"] != "geometric mean"
    ]
    words.append(
        f"Slower than base pages beyond the spread: {', '.join(slower)}."
        if slower
        else "Nothing is slower than base pages beyond the spread."
    )
    behind = sorted(
        {
            row["program"]
            for row in table
            for other in table
            if row["program"] == other["program"] != "geometric mean"
            and row["configuration"] == "auto"
            and other["configuration"] != "auto"
            and row["clear"]
            and other["clear"]
            and other["speedup"] > 1.05 * row["speedup"]
        }
    )
    return words + (
        [f"Another page size or allocator is faster than smalloc's choice by more than 5 % in " f"{', '.join(behind)}."]
        if behind
        else []
    )
