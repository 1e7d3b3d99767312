# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of malloc and free against the number of live objects."""

from functools import partial

from evaluation import marks, rounds

NAME = "smalloc-growth-objects"
SECTION = "smalloc's own"
TITLE = "Cost of malloc and free against live objects"
SOURCE = "smalloc's own figure"
CAPTION = (
    "CPU time of a run of benchmarks/evaluation/objects.c divided by its pairs of malloc and free; objects of 16 "
    "to 128 bytes, each "
    "written once and read once, so the time includes the program's own cache misses and page faults. Medians of "
    "the rounds, bars their range."
)
PROGRAM = {"name": "objects", "source": "evaluation/objects.c"}


def sizes(mode):
    return [10**e for e in (range(3, 7) if mode == "quick" else range(3, 8))]


def pairs(live):
    return max(5_000_000, live)


def run(live, configuration, lab):
    if configuration not in lab.configurations:
        return {"absent": True}
    return lab.run_program(PROGRAM, [live, pairs(live)], configuration)


def trials(mode):
    for number in range(1, (3 if mode == "quick" else 5) + 1):
        for live in sizes(mode):
            for configuration in marks.CONFIGURATIONS:
                yield f"objects/{live}/{configuration}/round-{number}", partial(run, live, configuration)


def rows(results, mode):
    found = []
    for live in sizes(mode):
        base = rounds.values_of(results, f"objects/{live}/base", marks.cpu)
        for key in marks.CONFIGURATIONS:
            if results[f"objects/{live}/{key}/round-1"].get("absent"):
                continue
            values = rounds.values_of(results, f"objects/{live}/{key}", marks.cpu)
            ns = [1e9 * value / pairs(live) for value in values]
            found.append(
                {
                    "objects": live,
                    "configuration": key,
                    "ns": rounds.summary(ns)["median"],
                    "low_ns": min(ns),
                    "high_ns": max(ns),
                    "rounds": len(ns),
                    "speed_against_base": "" if key == "base" else rounds.compare(base, values)[1],
                }
            )
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()
    for key, (label, colour, marker) in marks.CONFIGURATIONS.items():
        own = [row for row in table if row["configuration"] == key]
        if own:
            axes.errorbar(
                [row["objects"] for row in own],
                [row["ns"] for row in own],
                yerr=[[row["ns"] - row["low_ns"] for row in own], [row["high_ns"] - row["ns"] for row in own]],
                label=label,
                color=colour,
                marker=marker,
                markersize=5,
                capsize=2,
            )
    axes.set(xscale="log", xlabel="live objects", ylabel="ns for a malloc and a free")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def says(table):
    most = max(row["objects"] for row in table)
    at = {row["configuration"]: row for row in table if row["objects"] == most}
    least = {row["configuration"]: row for row in table if row["objects"] == min(r["objects"] for r in table)}
    peers = [key for key in at if key not in ("ours", "preload")]
    behind = [
        f"{marks.CONFIGURATIONS[key][0]} ({where[key]['ns']:.0f} against {where['ours']['ns']:.0f} ns, "
        f"{where[key]['objects']:,} objects)"
        for where in (least, at)
        for key in peers
        if where[key]["high_ns"] < where["ours"]["low_ns"]
    ]
    return [
        f"From {least['ours']['objects']:,} to {most:,} live objects a pair grows from {least['ours']['ns']:.0f} "
        f"to {at['ours']['ns']:.0f} ns with "
        f"smalloc, and from {least['base']['ns']:.0f} to {at['base']['ns']:.0f} ns with glibc.",
        "Every run has the same number of pairs, so only the size of the heap differs.",
    ] + ([f"Where smalloc is behind: {'; '.join(behind)}."] if behind else [])
