# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of a matrix transposition on base pages and on superpages."""
from evaluation import kernels, marks, rounds

NAME = "magee-fig3"
SECTION = "Magee and Qasem 2009"
TITLE = "Time of transpose"
SOURCE = "Magee and Qasem 2009, figure 3 (wall time of transpose)"
CAPTION = ("CPU time of a run divided by its transpositions, which includes filling both matrices once; CPU time, because other "
           "programs on the machine disturb it less than wall time. Base pages: glibc; superpages: smalloc with heap:superpage, which also "
           "differs in where it places objects. Points are medians of the rounds, bars their range. A filled point differs from base pages "
           "by more than the spread.")
ELEMENTS = {"quick": 30_000_000, "full": 200_000_000}


def inputs(mode):
    sizes = (50, 100, 130, 200, 300, 1000, 2000, 4000) if mode == "quick" else (50, 75, 100, 130, 150, 200, 250, 300, 500, 1000, 2000, 4000, 8000)
    return [(n, [str(n), str(max(2, ELEMENTS[mode] // n**2))]) for n in sizes]


def trials(mode):
    yield from kernels.time_trials([("transpose", arguments) for _, arguments in inputs(mode)], 3 if mode == "quick" else 7)


def rows(results, mode):
    found = []
    for n, arguments in inputs(mode):
        prefix = f"time/transpose/{'/'.join(arguments)}"
        times = {pages: [1e3 * t / int(arguments[1]) for t in rounds.values_of(results, f"{prefix}/{pages}", marks.cpu)]
                 for pages in ("base", "superpages")}
        ratio, words = rounds.compare(times["base"], times["superpages"])
        row = {"n": n, "transpositions": int(arguments[1]), "rounds": len(times["base"])}
        for pages, values in times.items():
            row.update({f"{pages}_ms": rounds.summary(values)["median"], f"{pages}_low_ms": min(values), f"{pages}_high_ms": max(values)})
        found.append({**row, "speed": "" if ratio is None else ratio, "verdict": words})
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()
    for pages, label, colour, marker in (("base", "base pages", marks.GREY, "s"), ("superpages", "superpages", marks.BLUE, "o")):
        middle = [row[f"{pages}_ms"] for row in table]
        bars = [[m - row[f"{pages}_low_ms"] for m, row in zip(middle, table)], [row[f"{pages}_high_ms"] - m for m, row in zip(middle, table)]]
        axes.errorbar([row["n"] for row in table], middle, yerr=bars, label=label, color=colour, marker=marker, markersize=6, capsize=2,
                      markerfacecolor="white")
        if pages == "superpages":
            clear = [row for row in table if row["speed"] != ""]
            axes.plot([row["n"] for row in clear], [row[f"{pages}_ms"] for row in clear], marker, color=colour, markersize=6)
    axes.set(xscale="log", yscale="log", xlabel="n of the n x n matrix", ylabel="ms a transposition")
    shown = [row["n"] for row in table][::2]
    axes.set_xticks(shown, [str(n) for n in shown])
    axes.minorticks_off()
    axes.legend()


def says(table):
    faster = [row["n"] for row in table if row["speed"] != "" and row["speed"] > 1]
    slower = [row["n"] for row in table if row["speed"] != "" and row["speed"] < 1]

    def names(sizes):
        return ", ".join(map(str, sizes))

    words = ["The source saw superpages ahead at every size; " + (f"here they are at n = {names(faster)}." if faster else "here they are at none."),
             "Elsewhere the difference is within the spread of the rounds."]
    return words + ([f"Superpages are behind at n = {names(slower)}."] if slower else [])
