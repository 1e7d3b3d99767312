# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TLB misses of a compressor by the size of its input."""
from functools import partial

from evaluation import marks

NAME = "magee-fig4"
SECTION = "Magee and Qasem 2009"
TITLE = "TLB misses of a compressor"
SOURCE = "Magee and Qasem 2009, figure 4 (TLB misses of 164-gzip by input size)"
CAPTION = ("Misses for each thousand loads and stores while the repository's compressor of the deflate kind (benchmarks/kernels/lz.c, in "
           "the place of gzip) compresses and expands a text. Counted by the exact TLB simulator, not by a PMU, with the TLB of the machine "
           "profile core2 (left) and of this machine's preset (right).")
SIZE = (8.4, 3.4)
CHAIN = "16"
TLBS = ("core2", "this machine")


def sizes(mode):
    return (1, 2, 3, 4) if mode == "quick" else (1, 2, 4, 8, 16)


def count(tlb, megabytes, lab):
    return lab.exact_misses("kernels/lz.c", [str(megabytes), CHAIN], lab.tlb_of("core2" if tlb == "core2" else None))


def trials(mode):
    for tlb in TLBS:
        for megabytes in sizes(mode):
            yield f"exact/{tlb}/lz/{megabytes}/{CHAIN}", partial(count, tlb, megabytes)


def rows(results, mode):
    found = []
    for tlb in TLBS:
        for megabytes in sizes(mode):
            numbers = results[f"exact/{tlb}/lz/{megabytes}/{CHAIN}"]
            found.append({"tlb": tlb, "megabytes": megabytes, **numbers,
                          **{f"{pages}_per_thousand": 1000 * numbers[f"{pages}_misses"] / numbers["accesses"] for pages in ("base", "superpage")}})
    return found


def draw(drawing, table):
    for place, tlb in enumerate(TLBS):
        axes = drawing.add_subplot(1, 2, place + 1)
        own = [row for row in table if row["tlb"] == tlb]
        for pages, label, colour, marker in (("base", "base pages", marks.GREY, "s"), ("superpage", "superpages", marks.BLUE, "o")):
            axes.plot([row["megabytes"] for row in own], [row[f"{pages}_per_thousand"] for row in own], label=label, color=colour, marker=marker)
        axes.set(title="TLB of the source (core2)" if tlb == "core2" else "TLB of this machine", xlabel="MB of text")
        axes.set_ylim(bottom=0, top=1.3 * max(row["base_per_thousand"] for row in own))
        axes.set_xticks([row["megabytes"] for row in own])
        if place == 0:
            axes.set_ylabel("misses per 1000 accesses")
            axes.legend()


def says(table):
    most = {tlb: max(row["base_per_thousand"] for row in table if row["tlb"] == tlb) for tlb in TLBS}
    return [f"A compressor walks its text in a window: on base pages it misses at most {most['core2']:.2g} times in a thousand accesses on "
            f"the source's TLB, and {most['this machine']:.2g} times on this machine's.",
            "So superpages save little, as the source found of gzip."]
