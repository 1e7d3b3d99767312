# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page faults of each configuration."""

from evaluation import marks, suite

NAME = "smalloc-faults"
SECTION = "smalloc's own"
TITLE = "Page faults"
SOURCE = "smalloc's own figure"
CAPTION = (
    "Minor page faults of a whole run of each program in benchmarks/programs, as the kernel counts them; medians "
    "of the rounds. A "
    "superpage takes one fault where 512 base pages take 512."
)


def trials(mode):
    yield from suite.trials(mode)


def rows(results, mode):
    return [
        {
            "program": program["name"],
            "configuration": key,
            "page_faults": own["minor_faults"],
            "superpages": own["superpages"],
        }
        for program in suite.measured(results, mode)
        for key, own in program["results"].items()
    ]


def draw(drawing, table):
    from matplotlib import ticker  # pylint: disable=import-outside-toplevel

    axes = drawing.add_subplot()
    names = list(dict.fromkeys(row["program"] for row in table))
    for key, (label, colour, marker) in marks.CONFIGURATIONS.items():
        own = {row["program"]: row["page_faults"] for row in table if row["configuration"] == key}
        axes.plot([own.get(name) for name in names], range(len(names)), marker, color=colour, label=label, markersize=7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="page faults (grid lines: factors of two)")
    axes.xaxis.set_major_locator(ticker.LogLocator(base=2))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.tick_params(axis="x", labelrotation=30)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def says(table):
    faults = {(row["program"], row["configuration"]): row["page_faults"] for row in table}
    names = list(dict.fromkeys(row["program"] for row in table))
    ratios = sorted(faults[name, "base"] / faults[name, "ours"] for name in names)
    behind = [
        name
        for name in names
        if any(
            key not in ("ours", "preload") and program == name and value < faults[name, "ours"]
            for (program, key), value in faults.items()
        )
    ]
    words = [
        f"With smalloc and the plugin the programs take between {1 / max(ratios):.2f} and {1 / min(ratios):.2f} "
        "times glibc's page faults.",
        "Fewer faults show in system time, not in TLB misses.",
    ]
    return words + (
        [f"Where smalloc is behind: another configuration takes fewer on {', '.join(behind)}."] if behind else []
    )
