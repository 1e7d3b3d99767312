# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well samples of transactions show each processor's share, by the way of sampling."""

from functools import partial

from evaluation import numa
from evaluation.bars import BLUE, GREY, ORANGE, RED

NAME = "tikir-table1-fig2"
SECTION = numa.SECTION
TITLE = "Error of sampled transactions, and pages that the samples reach"
SOURCE = "Tikir and Hollingsworth 2008, table 1 and figure 2 (CG with six threads, bus analyser of a Sun Fire 6800)"
CAPTION = (
    "The error of a way of sampling is the mean over the processors of |R_sample - R_all| / R_all, with R the "
    "processor's share of all "
    "transactions. The transactions are those of the kernel cg in the simulated caches of the source's "
    "machine, with its 12 threads "
    "merged by the trace's logical clock. Interval: every N-th transaction; random: one of N at a random "
    "place, as libsmalloc samples; "
    "max-rate: a FIFO of eight transactions that software empties at a constant rate, the rate at which it "
    "sees the share of "
    "transactions nearest to the source's 17.56 %. This run has fewer transactions than the source's, so "
    "errors rise from smaller N on: "
    "what counts is the number of samples."
)
SIZE = (8.4, 3.8)
SIZES = {"quick": (6000, 30), "full": (10000, 100)}


def key(mode):
    return "numa-sampling/cg/" + "/".join(str(n) for n in SIZES[mode])


def trials(mode):
    yield key(mode), partial(numa.sampling, *SIZES[mode])


def rows(results, mode):
    found = results[key(mode)]
    fastest = min(
        (w for w in found["ways"] if w["name"] == "max-rate"),
        key=lambda w: abs(w["sampled_percent"] - numa.PAPER_SAMPLING["max-rate"][1]),
    )
    ways = [w for w in found["ways"] if w["name"] != "max-rate"] + [fastest]
    return [
        {
            "way": w["name"],
            "n": w["period"] if w is not fastest else None,
            "samples": w["sampled"],
            "sampled_percent": w["sampled_percent"],
            "error": w["error"],
            "pages_percent": w["pages_percent"],
            "paper_error": numa.PAPER_SAMPLING.get(
                "max-rate" if w is fastest else w["period"] if w["name"] == "interval" else None, (None,)
            )[0],
        }
        for w in ways
    ]


def draw(drawing, table):
    errors, pages = drawing.subplots(1, 2)
    for axes, what in ((errors, "error"), (pages, "pages_percent")):
        for way, colour, marker in (("interval", BLUE, "o"), ("random", ORANGE, "^")):
            own = [row for row in table if row["way"] == way]
            axes.plot(
                [row["n"] for row in own],
                [row[what] for row in own],
                color=colour,
                marker=marker,
                markersize=4,
                label=way,
            )
        fastest = next(row for row in table if row["way"] == "max-rate")
        axes.axhline(fastest[what], color=RED, linestyle="--", label="max-rate")
        axes.set_xscale("log", base=4)
        axes.set_xlabel("N: a sample in N transactions")
    paper = [row for row in table if row["way"] == "interval" and row["paper_error"] is not None]
    errors.plot(
        [row["n"] for row in paper], [row["paper_error"] for row in paper], "x", color=GREY, label="paper, " "interval"
    )
    errors.axhline(numa.PAPER_SAMPLING["max-rate"][0], color=GREY, linestyle=":", label="paper, max-rate")
    errors.set_ylabel("mean error of a processor's share")
    errors.set_ylim(0, 1.1)
    errors.legend()
    pages.set_ylabel("pages in the sample (%)")
    pages.set_ylim(0, 105)


def says(table):
    fastest = next(row for row in table if row["way"] == "max-rate")
    nth = {row["n"]: row for row in table if row["way"] == "interval"}
    return [
        f"Reading as fast as possible sees {fastest['sampled_percent']:.0f} % of the transactions and is wrong by "
        f"{fastest['error']:.2f} "
        f"(the source: {numa.PAPER_SAMPLING['max-rate'][0]}), because bursts are lost; every 64th sees "
        f"{nth[64]['sampled_percent']:.1f} % and "
        f"is wrong by {nth[64]['error']:.2f}.",
        f"Longer intervals see fewer pages: every 1024th reaches {nth[1024]['pages_percent']:.0f} % of them.",
    ]
