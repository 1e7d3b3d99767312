# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of an analysis against the size of its trace."""

import os
import statistics
import time
from functools import partial

from evaluation import kernels, marks, rounds
from evaluation.lab import ROOT

NAME = "smalloc-growth-trace"
SECTION = "smalloc's own"
TITLE = "smalloc analyze against the size of the trace"
SOURCE = "smalloc's own figure"
CAPTION = (
    "Wall time and peak memory of smalloc analyze on traces of gups (random accesses, which no compression "
    "shortens), recorded at "
    "rate 1. Points are medians of the rounds, bars their range."
)
SIZE = (8.4, 3.6)
PERCENT = {"quick": (2, 8, 32, 128), "full": (2, 8, 32, 128, 512, 2048)}  # updates for each entry
ENTRIES = "22"


def analyze(percent, lab):
    source = ROOT / "benchmarks" / "kernels" / kernels.PROGRAMS["gups"][0]
    program = lab.compile(
        "recorder/gups",
        [lab.clang, "-O2", "-g1", f"-fplugin={lab.plugin}", "-fplugin-arg-smalloc-profile-generate", source],
        [source],
    )
    with lab.folder() as folder:
        trace = folder / "t.trace"
        lab.call(
            [lab.smalloc, "record", "-q", "--rate", "1", "-o", trace, "--", program, ENTRIES, str(percent)], folder
        )
        size = trace.stat().st_size
        with open(os.devnull, "wb") as nowhere:
            began = time.monotonic()
            child = os.posix_spawn(
                lab.smalloc,
                [str(lab.smalloc), "analyze", str(trace), "--no-db", "--json", "-q"],
                os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)],
            )
            _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"smalloc analyze of gups {ENTRIES} {percent}: wait status {status}")
    return {"trace_bytes": size, "wall_seconds": time.monotonic() - began, "peak_rss_bytes": usage.ru_maxrss * 1024}


def trials(mode):
    for number in range(1, 4 if mode == "quick" else 6):
        for percent in PERCENT[mode]:
            yield f"analyze/gups/{percent}/round-{number}", partial(analyze, percent)


def rows(results, mode):
    found = []
    for percent in PERCENT[mode]:

        def of(what, percent=percent):
            return rounds.values_of(results, f"analyze/gups/{percent}", lambda numbers: numbers[what])

        seconds = of("wall_seconds")
        found.append(
            {
                "trace_bytes": int(statistics.median(of("trace_bytes"))),
                "seconds": statistics.median(seconds),
                "low_seconds": min(seconds),
                "high_seconds": max(seconds),
                "peak_bytes": int(statistics.median(of("peak_rss_bytes"))),
                "rounds": len(seconds),
            }
        )
    return found


def draw(drawing, table):
    sizes = [row["trace_bytes"] / 1e6 for row in table]
    time_axes, memory_axes = drawing.subplots(1, 2)
    time_axes.errorbar(
        sizes,
        [row["seconds"] for row in table],
        yerr=[
            [row["seconds"] - row["low_seconds"] for row in table],
            [row["high_seconds"] - row["seconds"] for row in table],
        ],
        color=marks.BLUE,
        marker="o",
        capsize=2,
    )
    time_axes.set(title="time", xscale="log", yscale="log", xlabel="MB of trace", ylabel="seconds")
    memory_axes.plot(sizes, [row["peak_bytes"] / 1e6 for row in table], color=marks.BLUE, marker="o")
    memory_axes.set(title="memory", xscale="log", xlabel="MB of trace", ylabel="MB at most")
    memory_axes.set_ylim(bottom=0)


def says(table):
    low, high = table[0], table[-1]
    return [
        f"From {low['trace_bytes'] / 1e6:.1f} to {high['trace_bytes'] / 1e6:.1f} MB of trace "
        f"({high['trace_bytes'] / low['trace_bytes']:.0f} times), "
        f"an analysis grows from {low['seconds']:.2f} to {high['seconds']:.2f} s "
        f"({high['seconds'] / low['seconds']:.0f} times).",
        f"Its peak memory grows from {low['peak_bytes'] / 1e6:.0f} to {high['peak_bytes'] / 1e6:.0f} MB.",
    ]
