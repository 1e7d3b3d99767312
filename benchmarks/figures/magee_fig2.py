# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TLB misses of a matrix transposition, on the source's TLB and on this machine's."""

from functools import partial

NAME = "magee-fig2"
SECTION = "Magee and Qasem 2009"
TITLE = "TLB misses of transpose"
SOURCE = "Magee and Qasem 2009, figure 2 (transpose of 50x50 to 300x300 on a Core 2 Duo)"
CAPTION = (
    "Misses of one out-of-place transposition of doubles once the data is in memory: the difference between a run "
    "with 11 "
    "repeats and a run with one, divided by 10. They are counted by the exact TLB simulator, not by a PMU: each "
    "load and store "
    "goes through the last-level TLB of the machine profile core2 (left) and of this machine's preset (right), "
    "with everything on "
    "base pages or everything on superpages."
)
SIZE = (8.4, 3.6)
REPEATS = 10
TLBS = ("core2", "this machine")


def sizes(tlb, mode):
    if tlb == "core2":
        return range(50, 301, 25 if mode == "quick" else 10)
    return range(200, 1601, 200) if mode == "quick" else range(100, 2001, 100)


def count(tlb, n, repeats, lab):
    return lab.exact_misses("kernels/transpose.c", [n, repeats], lab.tlb_of("core2" if tlb == "core2" else None))


def key(tlb, n, repeats):
    return f"exact/{tlb}/transpose/{n}/{repeats}"


def trials(mode):
    for tlb in TLBS:
        for n in sizes(tlb, mode):
            for repeats in (1, 1 + REPEATS):
                yield key(tlb, n, repeats), partial(count, tlb, n, repeats)


def rows(results, mode):
    found = []
    for tlb in TLBS:
        for n in sizes(tlb, mode):
            once, often = (results[key(tlb, n, repeats)] for repeats in (1, 1 + REPEATS))
            found.append(
                {
                    "tlb": tlb,
                    "n": n,
                    **{what: (often[what] - once[what]) / REPEATS for what in ("base_misses", "superpage_misses")},
                }
            )
    return found


def parting(table, tlb):
    """The least n from which on superpages save misses; None: they save none."""
    own = [row for row in table if row["tlb"] == tlb]
    apart = [row["base_misses"] - row["superpage_misses"] >= 1 for row in own]
    return next((row["n"] for at, row in enumerate(own) if all(apart[at:])), None)


def draw(drawing, table):
    for place, tlb in enumerate(TLBS):
        axes = drawing.add_subplot(1, 2, place + 1)
        own = [row for row in table if row["tlb"] == tlb]
        for what, label, colour, marker in (
            ("base_misses", "base pages", "#666666", "s"),
            ("superpage_misses", "superpages", "#0072b2", "o"),
        ):
            axes.plot(
                [row["n"] for row in own],
                [row[what] for row in own],
                label=label,
                color=colour,
                marker=marker,
                markersize=4,
            )
        axes.set_title("TLB of the source (core2)" if tlb == "core2" else "TLB of this machine")
        axes.set_xlabel("n of the n x n matrix")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=0)
        if place == 0:
            axes.set_ylabel("misses a transposition")
            axes.legend()


def says(table):
    there, here = (parting(table, tlb) for tlb in TLBS)
    return [
        (
            f"On the source's TLB base pages and superpages part at n = {there}: up to there its 256 entries hold "
            "both matrices. The "
            "source's counters saw them part at 130, where its threshold of 65 pages lies."
            if there
            else "On the source's TLB base pages and superpages do not part, though the source saw them part at 130."
        ),
        (
            f"Today's TLB has more entries, and here they part at n = {here}."
            if here
            else "Today's TLB holds all of these matrices, so superpages save no miss here."
        ),
    ]
