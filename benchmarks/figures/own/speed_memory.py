# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed against peak memory, a point a configuration."""

from evaluation import marks, suite
import bench_peers
import bench_table

NAME = "smalloc-speed-memory"
SECTION = "smalloc's own"
TITLE = "Speed against peak memory"
SOURCE = "smalloc's own figure"
CAPTION = (
    "CPU speed and peak memory of the programs in benchmarks/programs, glibc on base pages being 1: large points "
    "are geometric means "
    "over the programs, small ones single programs. Speed is the median over the rounds of base pages' CPU time "
    "divided by the "
    "configuration's in the same round; CPU time is user time and the least system time. Up and left is better. "
    "The last column of "
    "the CSV says which programs differ by more than the spread."
)
SIZE = (7.6, 4.8)


def trials(mode):
    yield from suite.trials(mode)


def rows(results, mode):
    programs = suite.measured(results, mode)
    found = []
    for key in marks.CONFIGURATIONS:
        for program in programs:
            if key in program["results"] and key != "base":
                own, base = program["results"][key], program["results"]["base"]
                ratio, clear = bench_table.compare(base, own, "total")
                one = bench_peers.means([program], [key])[key]
                found.append(
                    {
                        "configuration": key,
                        "program": program["name"],
                        "speed": one["cpu"],
                        "memory": one["memory"],
                        "rounds": own["runs"],
                        "verdict": f"{ratio:.2f}x" if clear else "within the spread",
                    }
                )
    for key, mean in bench_peers.means(programs, marks.CONFIGURATIONS).items():
        found.append(
            {
                "configuration": key,
                "program": "geometric mean",
                "speed": mean["cpu"],
                "memory": mean["memory"],
                "rounds": "",
                "verdict": "",
            }
        )
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()
    for row in table:
        label, colour, marker = marks.CONFIGURATIONS[row["configuration"]]
        mean = row["program"] == "geometric mean"
        axes.plot(
            row["memory"],
            row["speed"],
            marker,
            color=colour,
            markersize=11 if mean else 5,
            alpha=1 if mean else 0.35,
            markeredgewidth=0,
            label=label if mean else None,
        )
    axes.set(xlabel="peak memory, glibc = 1", ylabel="speed (CPU time), glibc = 1")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))


def says(table):
    means = {row["configuration"]: row for row in table if row["program"] == "geometric mean"}
    ours = means["ours"]
    words = [
        f"smalloc with the plugin runs at {ours['speed']:.2f} times glibc's speed with {ours['memory']:.2f} times "
        "its memory (geometric means)."
    ]
    if "preload" in means:
        words.append(
            f"Without recompiling it is {means['preload']['speed']:.2f} times at {means['preload']['memory']:.2f} "
            "times."
        )
    behind = [
        f"{marks.CONFIGURATIONS[key][0]} is faster on the mean ({row['speed']:.2f})"
        for key, row in means.items()
        if key not in ("ours", "preload") and row["speed"] > ours["speed"]
    ]
    behind += [
        f"{marks.CONFIGURATIONS[key][0]} needs less memory on the mean ({row['memory']:.2f})"
        for key, row in means.items()
        if key not in ("ours", "preload") and row["memory"] < ours["memory"]
    ]
    slower = [
        row["program"]
        for row in table
        if row["configuration"] == "ours" and row["verdict"].endswith("x") and row["verdict"] < "1"
    ]
    behind += [f"smalloc is slower than glibc on {', '.join(slower)}"] if slower else []
    return words + ([f"Where smalloc is behind: {'; '.join(behind)}."] if behind else [])
