# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time, page faults and TLB misses of each program with two inputs, and what the significance test keeps."""
import statistics

from evaluation import kernels, marks, rounds

NAME = "cascaval-table1"
SECTION = "Cascaval et al. 2005"
TITLE = "Rates of page faults and of TLB misses"
SOURCE = "Cascaval et al. 2005, table 1 (time, page faults and data TLB misses a second; reference and training input)"
CAPTION = ("Page faults and TLB misses a second, on base pages (square) and with everything on superpages (circle, smalloc with "
           "heap:superpage). Times and page faults are medians of the rounds; TLB misses are counted by the exact TLB simulator, not by a PMU, and "
           "divided by the CPU time of an unsimulated run. Dashed: the thresholds of the source's significance test, 1,000 page faults and 100,000 "
           "misses a second; a program below both fails it. The CSV has the table.")
SIZE = (8.4, 4.8)
FAULTS, MISSES = 1000, 100_000
QUICK = ("colsum", "gups", "list", "spmv", "stream", "transpose")


def inputs(mode):
    names = QUICK if mode == "quick" else tuple(kernels.PROGRAMS)
    return [(name, what, arguments) for name in names
            for what, arguments in (("reference", kernels.PROGRAMS[name][1]), ("other", kernels.PROGRAMS[name][2][0]))]


def trials(mode):
    for name, _, arguments in inputs(mode):
        yield kernels.misses_trial("this machine", name, arguments)
    yield from kernels.time_trials([(name, arguments) for name, _, arguments in inputs(mode)], 3 if mode == "quick" else 5)


def rows(results, mode):
    found = []
    for name, what, arguments in inputs(mode):
        misses = results[kernels.misses_key("this machine", name, arguments)]
        row = {"program": name, "input": what, "arguments": " ".join(arguments)}
        for pages, counted in (("base", "base_misses"), ("superpages", "superpage_misses")):
            prefix = f"time/{name}/{'/'.join(arguments)}/{pages}"
            seconds = statistics.median(rounds.values_of(results, prefix, marks.cpu))
            faults = statistics.median(rounds.values_of(results, prefix, lambda numbers: numbers["minor_faults"]))
            row.update({f"{pages}_seconds": seconds, f"{pages}_faults_per_second": faults / seconds,
                        f"{pages}_misses_per_second": misses[counted] / seconds})
        row["significant"] = row["base_faults_per_second"] >= FAULTS or row["base_misses_per_second"] >= MISSES
        found.append(row)
    return found


def draw(drawing, table):
    for place, what in enumerate(("reference", "other")):
        axes = drawing.add_subplot(1, 2, place + 1)
        own = [row for row in table if row["input"] == what]
        for row in own:
            xs, ys = ([max(row[f"{pages}_{rate}_per_second"], 1) for pages in ("base", "superpages")] for rate in ("faults", "misses"))
            axes.plot(xs, ys, color="#bbbbbb", linewidth=0.8)
            axes.plot(xs[0], ys[0], "s", color=marks.GREY)
            axes.plot(xs[1], ys[1], "o", color=marks.BLUE)
            axes.annotate(row["program"], (xs[0], ys[0]), textcoords="offset points", xytext=(6, -3), fontsize=8)
        axes.axvline(FAULTS, color=marks.RED, linestyle="--", linewidth=1)
        axes.axhline(MISSES, color=marks.RED, linestyle="--", linewidth=1)
        axes.set(xscale="log", yscale="log", title=f"{what} input", xlabel="page faults a second")
        axes.margins(x=0.25)
    drawing.axes[0].set_ylabel("TLB misses a second")


def says(table):
    failing = [f"{row['program']} ({row['input']} input)" for row in table if not row["significant"]]
    faults = [row["base_faults_per_second"] / max(row["superpages_faults_per_second"], 1e-9) for row in table]
    return [f"Superpages divide the rate of page faults by {statistics.median(faults):.0f} in the median.",
            f"The source's significance test drops {', '.join(failing)}." if failing else
            "The source's significance test drops none of these programs: all touch new memory all the time."]
