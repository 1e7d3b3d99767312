# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reduction of TLB misses by superpages, for each program."""
from evaluation import kernels, marks

NAME = "magee-fig5"
SECTION = "Magee and Qasem 2009"
TITLE = "Reduction of TLB misses by superpages"
SOURCE = "Magee and Qasem 2009, figure 5 (reduction of TLB misses for all benchmarks)"
CAPTION = ("Share of the TLB misses of a run on base pages that everything on superpages saves. Counted by the exact TLB simulator, not by "
           "a PMU; first touches are misses. The source's SPEC programs are not free, so the repository's kernels take their place.")
SIZE = (7.6, 4.4)
TLBS = ("core2", "this machine")


def trials(mode):
    for tlb in TLBS:
        for name in kernels.PROGRAMS if mode == "full" else kernels.QUICK + ("gups", "stride", "spmv"):
            yield kernels.misses_trial(tlb, name, kernels.PROGRAMS[name][1])


def rows(results, mode):
    found = []
    for tlb in TLBS:
        for name, (_, arguments, _) in kernels.PROGRAMS.items():
            numbers = results.get(kernels.misses_key(tlb, name, arguments))
            if numbers:
                found.append({"tlb": tlb, "program": name, "input": " ".join(arguments), **numbers,
                              "reduction_percent": 100 * (1 - numbers["superpage_misses"] / numbers["base_misses"])})
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()
    names = list(dict.fromkeys(row["program"] for row in table))
    for place, (tlb, label, colour) in enumerate((("core2", "TLB of the source (core2)", marks.ORANGE), ("this machine", "TLB of this machine", marks.BLUE))):
        of = {row["program"]: row["reduction_percent"] for row in table if row["tlb"] == tlb}
        axes.bar([x + 0.4 * place - 0.2 for x in range(len(names))], [of[name] for name in names], 0.38, label=label, color=colour)
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_ylabel("misses saved, %")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)


def says(table):
    worst = {tlb: min((row for row in table if row["tlb"] == tlb), key=lambda row: row["reduction_percent"]) for tlb in TLBS}
    return [f"On the source's TLB, with 32 entries for superpages, superpages save least for {worst['core2']['program']} "
            f"({worst['core2']['reduction_percent']:.1f} %).",
            f"On this machine's they save at least {worst['this machine']['reduction_percent']:.1f} % ({worst['this machine']['program']})."]
