# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Three ways to the cost of a TLB miss."""

from evaluation import stream
from evaluation.bars import BLUE, GREEN, GREY, ORANGE, PURPLE
from evaluation.rounds import values_of

NAME = "gorman-miss-cost"
SECTION = stream.SECTION
TITLE = "Three ways to the cost of a TLB miss"
SOURCE = "Gorman 2010, sections 2.2 and 2.3, and libhugetlbfs' tlbmiss_cost.sh (Calibrator, PMU)"
CAPTION = (
    "(a) The micro-benchmark: pointer chases over working sets from 13,631,488 bytes in steps of 3,932,160 "
    "until three agree within 2 "
    "cycles (smalloc calibrate --tlbmiss-cost), each round a line; and the walk costs of smalloc calibrate "
    "over more pages, with the "
    "range of its rounds, waited for and overlapped with other loads. (b) The PMU: walk cycles / misses, where "
    "there is one. (c) The "
    "preset of the machine profile. Dotted: results of the source, for other machines."
)
SIZE = (8.4, 4.0)
ROUNDS = 3


def trials(_):
    for number in range(1, ROUNDS + 1):
        yield f"miss-cost/micro-benchmark/round-{number}", stream.micro_benchmark
    yield "miss-cost/calibrated", stream.calibrated
    yield "miss-cost/preset", stream.preset


def rows(results, _):
    found = []
    for number, trial in enumerate(values_of(results, "miss-cost/micro-benchmark", lambda n: n), 1):
        found += [
            {"way": "micro-benchmark", "round": number, "pages": point["bytes"] // 4096, "cycles": point["cycles"]}
            for point in trial["series"]
        ]
        found.append({"way": "micro-benchmark result", "round": number, "cycles": trial["cycles"]})
    trial = results["miss-cost/calibrated"]
    for what, way in (("walk_cost", "calibrated"), ("overlapped_walk_cost", "calibrated, overlapped")):
        found += [
            {"way": way, "pages": c["pages"], "cycles": c["value"], "low": c["low"], "high": c["high"]}
            for c in trial[what]
            if c["source"] == "measured"
        ]
    pmu = trial["pmu"]
    found.append({"way": "PMU", "cycles": pmu["walk_cycles"], "note": pmu.get("why")})
    found += [
        {"way": "preset", "pages": c["pages"], "cycles": c["cycles"], "note": results["miss-cost/preset"]["name"]}
        for c in results["miss-cost/preset"]["walk_cost"]
    ]
    return found + [
        {"way": "paper", "cycles": cycles, "note": machine} for machine, cycles in stream.PAPER_COSTS.items()
    ]


def draw(drawing, table):
    axes = drawing.add_subplot()
    labels = set()

    def points(way, **style):
        own = [row for row in table if row["way"] == way and row.get("pages") and row["cycles"]]
        for number in dict.fromkeys(row.get("round") for row in own):
            part = [row for row in own if row.get("round") == number]
            axes.plot(
                [row["pages"] for row in part],
                [row["cycles"] for row in part],
                label=None if way in labels else way,
                **style,
            )
            labels.add(way)
            for row in part:
                if row.get("low") is not None:
                    axes.plot(
                        [row["pages"]] * 2, [max(row["low"], 0.3), row["high"]], color=style["color"], linewidth=1
                    )

    points("micro-benchmark", color=ORANGE, marker=".", markersize=4, linewidth=1)
    points("calibrated", color=BLUE, marker="o", markersize=5)
    points("calibrated, overlapped", color=GREEN, marker="s", markersize=4)
    points("preset", color=PURPLE, marker="D", markersize=5, linestyle="--")
    pmu = next(row for row in table if row["way"] == "PMU")
    if pmu["cycles"]:
        axes.axhline(pmu["cycles"], color="black", label="PMU: walk cycles / misses")
    else:
        axes.plot([], [], " ", label=f"PMU: {pmu['note'] or 'nothing counted'}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for row in table:
        if row["way"] == "paper":
            axes.axhline(row["cycles"], color=GREY, linestyle=":", linewidth=1)
            axes.annotate(
                f"paper: {row['cycles']} ({row['note']})",
                (0.99, row["cycles"]),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
                color=GREY,
            )
    axes.set_xlabel("base pages in the working set")
    axes.set_ylabel("cycles a miss")
    axes.legend(fontsize=8)


def says(table):
    measured = [row["cycles"] for row in table if row["way"] == "micro-benchmark result" and row["cycles"]]
    walks = [row for row in table if row["way"] == "calibrated"]
    overlapped = [row["cycles"] for row in table if row["way"] == "calibrated, overlapped"]
    preset = [row["cycles"] for row in table if row["way"] == "preset"]
    words = [
        (
            f"The micro-benchmark gives {min(measured)} to {max(measured)} cycles in {len(measured)} of {ROUNDS} "
            f"rounds; in the others no three "
            "latencies agreed."
            if len(measured) < ROUNDS and measured
            else (
                f"The micro-benchmark gives {min(measured)} to {max(measured)} cycles in {ROUNDS} rounds."
                if measured
                else "The micro-benchmark found no three latencies that agree within its limit."
            )
        )
    ]
    if preset:
        words.append(f"The preset says {min(preset):.0f} to {max(preset):.0f}.")
    if walks and overlapped:
        words.append(
            f"The cost is a curve: {walks[0]['cycles']:.0f} cycles at {walks[0]['pages']} pages, "
            f"{walks[-1]['cycles']:.0f} at "
            f"{walks[-1]['pages']}; walks that overlap with other loads cost {min(overlapped):.0f} to "
            f"{max(overlapped):.0f}."
        )
    pmu = next(row for row in table if row["way"] == "PMU")
    return words + (
        [] if pmu["cycles"] else [f"The second way is missing: {pmu['note'] or 'the PMU counted nothing'}."]
    )
