# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What superpages are predicted to gain in STREAM, and what they gain."""

from functools import partial
from statistics import median

from evaluation import rounds, stream
from evaluation.bars import BLUE, GREEN, GREY, ORANGE, PAPER, PURPLE, grouped, legend_above

NAME = "gorman-stream"
SECTION = stream.SECTION
TITLE = "STREAM: predicted and measured gain of superpages"
SOURCE = "Gorman 2010, section 2.5 (STREAM with 1 GB from malloc on a PowerPC 970MP, 16 MiB pages)"
CAPTION = (
    "Left: predicted is TLB misses x cost of a miss / cycles, an upper bound. Misses are the PMU's; without "
    "one they follow from the "
    "order in which STREAM walks its pages, and the cost from a brief calibration. Measured is the user time "
    "saved by 2 MiB superpages "
    "(smalloc study --stream --predict --verify); the line is the spread of the runs. Right: the rate of each "
    "function over glibc on base "
    "pages, medians of runs in turn; a pale bar is within the spread. The source's machine ran 1 GB; this run "
    "512 MiB in quick mode, "
    "1 GiB in full mode."
)
SIZE = (8.8, 4.0)
COLOURS = {"thp": ORANGE, "preload-superpage": GREEN, "preload": BLUE, "libhugetlbfs": PURPLE}


def count(mode):
    return 3 if mode == "quick" else 7


def key(configuration):
    return f"stream/rates/{configuration}"


def trials(mode):
    yield "stream/predict", stream.predict
    for number in range(1, count(mode) + 1):
        for configuration in ("base", *COLOURS):
            yield f"{key(configuration)}/round-{number}", partial(stream.rates, configuration)


def rows(results, mode):
    trial = results["stream/predict"]
    p = trial["prediction"]
    before, after = stream.PAPER_SECONDS
    found = [
        {
            "what": "share",
            "of": "this machine",
            "predicted_percent": 100 * p["translation_share"],
            "measured_percent": 100 * p["measured_gain"],
            "tolerance_percent": 100 * (p["tolerance"] or 0),
            "within_bound": p["within_bound"],
            "misses": p["misses"],
            "misses_from": p["source"],
            "cost_cycles": p["cost_cycles"],
            "cost_from": p["cost_source"],
            "page_faults_base": trial["results"]["base"]["page_faults"],
            "page_faults_superpages": trial["results"]["thp"]["page_faults"],
        },
        {
            "what": "share",
            "of": "paper",
            "predicted_percent": stream.PAPER_PREDICTED,
            "measured_percent": 100 * (before - after) / before,
        },
    ]

    def values(configuration, kernel):
        runs = [n for n in rounds.values_of(results, key(configuration), lambda n: n) if not n.get("missing")]
        return [1 / n["rates"][kernel] for n in runs], max((n["superpages"] for n in runs), default=0)

    for kernel in stream.KERNELS:
        base, _ = values("base", kernel)
        for configuration in COLOURS:
            times, superpages = values(configuration, kernel)
            if times:
                found.append(
                    {
                        "what": "rate",
                        "function": kernel,
                        "of": configuration,
                        "gain_percent": 100 * (median(base) / median(times) - 1),
                        "clear": rounds.compare(base, times)[0] is not None,
                        "superpages": superpages,
                        "megabytes_per_second": 1e-6 / median(times),
                    }
                )
        slow, fast = stream.PAPER_RATES[kernel]
        found.append(
            {
                "what": "rate",
                "function": kernel,
                "of": "paper",
                "gain_percent": 100 * (fast / slow - 1),
                "clear": True,
                "megabytes_per_second": fast,
            }
        )
    return found


def draw(drawing, table):
    left, right = drawing.subplots(1, 2, width_ratios=[2, 5])
    shares = [row for row in table if row["what"] == "share"]
    for place, row in enumerate(shares):
        paper = PAPER if row["of"] == "paper" else {}
        left.bar(
            [place - 0.2],
            [row["predicted_percent"]],
            width=0.36,
            **(paper or {"color": GREY}),
            label="predicted" if not place else None,
        )
        left.bar(
            [place + 0.2],
            [row["measured_percent"]],
            width=0.36,
            **({**PAPER, "hatch": "\\\\\\\\"} if paper else {"color": BLUE}),
            label="measured" if not place else None,
        )
        if row.get("tolerance_percent"):
            left.errorbar(
                [place + 0.2],
                [row["measured_percent"]],
                yerr=row["tolerance_percent"],
                color="black",
                capsize=3,
                linewidth=1,
            )
    left.set_xticks(range(len(shares)), ["this machine", "paper:\nPPC 970MP"])
    left.set_ylabel("share of the time (%)")
    left.grid(axis="x", visible=False)
    legend_above(left, 2)
    series = {}
    for name in (*COLOURS, "paper"):
        own = {row["function"]: row for row in table if row["what"] == "rate" and row["of"] == name}
        if own:
            values = [own[k]["gain_percent"] for k in stream.KERNELS]
            series[stream.TITLES.get(name, "paper: 16 MiB pages")] = (
                values,
                (
                    PAPER
                    if name == "paper"
                    else {"color": [COLOURS[name] + ("" if own[k]["clear"] else "55") for k in stream.KERNELS]}
                ),
            )
    grouped(right, stream.KERNELS, series)
    right.set_ylabel("rate over base pages (%)")
    from matplotlib.patches import Patch  # pylint: disable=import-outside-toplevel

    styles = {stream.TITLES[name]: {"color": colour} for name, colour in COLOURS.items()}
    legend_above(right, 2, fontsize=8, handles=[Patch(label=title, **styles.get(title, PAPER)) for title in series])


def says(table):
    own, paper = (row for row in table if row["what"] == "share")
    spread = own["tolerance_percent"]
    words = [
        f"Predicted {own['predicted_percent']:.1f} % at most, measured {own['measured_percent']:.1f} %, with a "
        f"spread of {spread:.1f}"
        f"{'' if own['within_bound'] else ': more than the bound allows'} (the source: "
        f"{paper['predicted_percent']:.1f} and "
        f"{paper['measured_percent']:.1f} %)."
    ]
    means = {}
    for name in COLOURS:
        gains = [
            row["gain_percent"] if row["clear"] else 0 for row in table if row["what"] == "rate" and row["of"] == name
        ]
        if gains:
            means[name] = sum(gains) / len(gains)
    words.append(
        "Mean over the functions, where a difference within the spread counts as none: "
        + ", ".join(f"{stream.TITLES[name]} {mean:+.0f} %" for name, mean in means.items())
        + "."
    )
    dead = next((row for row in table if row["of"] == "libhugetlbfs" and row["superpages"] == 0), None)
    if dead:
        words.append(
            "libhugetlbfs, the source's own means, takes no superpage with this C library, which has no hook "
            "for it any more."
        )
    if means and "preload" in means and max(means.values()) > means["preload"] + 3:
        words.append(f"smalloc run is behind {stream.TITLES[max(means, key=means.get)]} here.")
    return words
