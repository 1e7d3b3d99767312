# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Error of the predicted rankings, for the recorded input and for others."""
import statistics

from evaluation import kernels, marks

NAME = "cascaval-fig5"
SECTION = "Cascaval et al. 2005"
TITLE = "Error of predicted rankings"
SOURCE = "Cascaval et al. 2005, figure 5 (ranking error: reference input, training input)"
CAPTION = ("Mean difference between the predicted and the exact PMB over the mappings of a program. The exact side is a TLB simulation of "
           "each load and store, not measured times as in the source, so it has no effects of caches or of code placement. "
           "Recorded input: both sides have the same input. Other input: the prediction of the recorded run against the exact simulation of another "
           "input. Inputs with less than 1 ms to gain have no ranking and no bar.")
SOURCE_MEAN = 2.3  # percent, with the reference input, as the source's section 5.3.2 gives it


def trials(mode):
    yield from kernels.ranking_trials(mode)


def rows(results, mode):
    found = []
    for name in kernels.ranked(mode):
        report = results[f"ranking/{name}"]
        for what, result, words in [("recorded", report["same"], report["input"])] + [("other", o["result"], o["input"]) for o in report["others"]]:
            error = result["error_percent"]
            found.append({"program": name, "input": what, "arguments": " ".join(words), "mappings": result["mappings"],
                          "error_percent": "" if error is None else error, "best_mapping_found": result["same_best"]})
    return found


def errors(table, what):
    return [row["error_percent"] for row in table if row["input"] == what and row["error_percent"] != ""]


def mean(values):
    # An error of 0 has no logarithm: values below 0.01 % count as 0.01 %.
    return statistics.geometric_mean([max(v, 0.01) for v in values])


def draw(drawing, table):
    axes = drawing.add_subplot()
    names = list(dict.fromkeys(row["program"] for row in table))
    for place, (what, colour) in enumerate((("recorded", marks.BLUE), ("other", marks.ORANGE))):
        worst = [max([row["error_percent"] for row in table if (row["program"], row["input"]) == (name, what) and row["error_percent"] != ""],
                     default=0) for name in names]
        axes.bar([x + 0.4 * place - 0.2 for x in range(len(names))], worst, 0.38, label=f"{what} input", color=colour)
    axes.axhline(SOURCE_MEAN, color=marks.GREY, linestyle="--", linewidth=1, label="geometric mean of the source, recorded input")
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set_ylabel("ranking error, % (worst of several inputs)")
    axes.legend()


def says(table):
    same, other = errors(table, "recorded"), errors(table, "other")
    return [f"With the recorded input the ranking error has a geometric mean of {mean(same):.2f} % and is at most {max(same):.2f} %; the source's "
            f"mean is {SOURCE_MEAN} %, against times.",
            f"With other inputs it has a geometric mean of {mean(other):.2f} % and is at most {max(other):.2f} %."]
