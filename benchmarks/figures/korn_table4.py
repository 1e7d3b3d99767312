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
    "Every configuration is compared with glibc on base pages. 2 MiB for everything is smalloc with "
    "heap:superpage; smalloc chooses by itself where it is not recompiled or has the plugin. User and system "
    "time, medians of runs in turn. Before each run another process touches the memory that the program needs, "
    "so that a virtual machine's host has it. A hollow mark: the difference is within the spread of the runs, "
    "and counts as 1 in the geometric means. Dotted lines: the source's geometric means with 16 MiB pages, of "
    "its own programs and machine."
)
SIZE = (8.8, 4.6)
STYLES = {
    "preload-superpage": (ORANGE, "s"),
    "preload": (GREEN, "^"),
    "ours": (BLUE, "o"),
    "thp": (GREY, "v"),
    "jemalloc-thp": (PURPLE, "D"),
    "mimalloc": (RED, "P"),
}
OTHERS = ("thp", "jemalloc-thp", "mimalloc")
trials = page_sizes.run_trials


def seconds(numbers):
    return numbers["user_seconds"] + numbers["system_seconds"]


def title_of(configuration):
    return {**page_sizes.PEERS, **page_sizes.OWN}[configuration]


def rows(results, mode):
    found = []
    for group, program in page_sizes.programs(mode):
        base = page_sizes.peer_values(results, program, "base", seconds)
        base_user = page_sizes.peer_values(results, program, "base", lambda numbers: numbers["user_seconds"])
        for configuration in STYLES:
            times = page_sizes.peer_values(results, program, configuration, seconds)
            if times:
                user = page_sizes.peer_values(results, program, configuration, lambda n: n["user_seconds"])
                found.append(
                    {
                        "group": group,
                        "program": program["name"],
                        "configuration": configuration,
                        "speedup": median(base) / median(times),
                        "user_speedup": median(base_user) / median(user),
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
            f"{group}: {mean[group, 'preload-superpage']:.2f} with 2 MiB for everything, "
            f"{mean[group, 'ours']:.2f} with smalloc and the plugin, {mean[group, 'preload']:.2f} without "
            f"recompiling (the source: {page_sizes.PAPER_SPEED[group]['16m']:.2f} with 16 MiB)"
            for group in page_sizes.GROUPS
        )
        + "."
    ]
    user = {
        configuration: page_sizes.geometric_mean(
            [row["user_speedup"] for row in table if row["configuration"] == configuration and "user_speedup" in row]
        )
        for configuration in ("preload-superpage", "ours", "preload")
    }
    words.append(
        f"In user time alone, without the first touch of pages, the means of all "
        f"programs are {user['preload-superpage']:.2f}, {user['ours']:.2f} and {user['preload']:.2f}, not tested "
        f"against the spread."
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
            and row["configuration"] == "ours"
            and other["configuration"] in OTHERS
            and other["clear"]
            and other["speedup"] > 1.05 * row["speedup"]
        }
    )
    return words + (
        [f"Where smalloc is behind: another allocator is faster by more than 5 % in {', '.join(behind)}."]
        if behind
        else []
    )
