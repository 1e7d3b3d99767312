# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Miss ratio of a recorded run against the entries of a TLB, on base pages and on superpages."""

import json
from functools import partial

from evaluation import marks
from evaluation.lab import ROOT

NAME = "smalloc-reuse-curve"
SECTION = "smalloc's own"
TITLE = "Misses of a binary tree against the entries of the TLB"
SOURCE = "smalloc's own figure"
CAPTION = (
    "benchmarks/kernels/tree.c, a binary search tree of 128-byte records, recorded at rate 1. "
    "benchmarks/evaluation/reuse_curve.cpp counts the reuse distance of each recorded access, the "
    "other pages used since the last use of its page, in base pages and in superpages of the same "
    "addresses. A curve has at n entries the share of accesses whose distance is n or more: the "
    "misses of a fully associative LRU TLB. First accesses are misses. The recording leaves out "
    "accesses to one of the last 48 base pages, so the curve of base pages begins at 64 entries, "
    "and the ratio to all accesses is smaller. Dashed: the levels of the TLB of this machine's "
    "preset."
)
SIZE = (7.6, 4.2)
KERNEL = "tree"
LEAST_BASE_ENTRIES = 64  # above the 48 pages of docs/profile-feedback.md
RECORDS = {"quick": "500000", "full": "2000000"}
PAGES = {"base": ("base pages", marks.GREY), "superpages": ("superpages", marks.BLUE)}


def helper(lab):
    """Returns the path of the compiled reuse_curve. Raises RuntimeError if the compiler fails."""
    source = ROOT / "benchmarks" / "evaluation" / "reuse_curve.cpp"
    libraries = [lab.build / "lib" / f"libsmalloc_{name}.a" for name in ("reuse", "trace")]
    options = ["--driver-mode=g++", "-std=c++20", "-O2", f"-I{ROOT}"]
    command = [lab.clang, *options, source, *libraries, "-lzstd", "-lfmt"]
    return lab.compile("reuse_curve", command, [source, *libraries])


def levels(machine):
    """Returns (level, entries for base pages, entries for superpages) of the data TLB."""
    found = {}
    for tlb in machine["tlb"]:
        for size in tlb["page_bytes"]:
            if tlb["kind"] != "instruction":
                found.setdefault(tlb["level"], {})[size] = tlb["entries"]["value"]
    return [[level, own.get(4096), own.get(2 << 20)] for level, own in sorted(found.items())]


def record(records, lab):
    """Returns accesses, pages and misses an access by entries, and the levels of the TLB."""
    source = ROOT / "benchmarks" / "kernels" / f"{KERNEL}.c"
    options = ["-O2", "-g1", f"-fplugin={lab.plugin}", "-fplugin-arg-smalloc-profile-generate"]
    program = lab.compile(f"recorder/{KERNEL}", [lab.clang, *options, source], [source])
    with lab.folder() as folder:
        trace = folder / "t.trace"
        options = ["record", "-q", "--rate", "1", "-o", trace]
        lab.call([lab.smalloc, *options, "--", program, records], folder)
        found = json.loads(lab.call([helper(lab), trace]).stdout)
    return {**found, "levels": levels(lab.preset)}


def trials(mode):
    yield f"reuse/{KERNEL}/{RECORDS[mode]}", partial(record, RECORDS[mode])


def rows(results, mode):
    found = results[f"reuse/{KERNEL}/{RECORDS[mode]}"]
    points = [
        {"pages": pages, "entries": entries, "miss_ratio": ratio}
        for pages in PAGES
        for entries, ratio in found[pages]["misses"]
        if pages != "base" or entries >= LEAST_BASE_ENTRIES
    ]
    marked = [
        {"level": level, "base_entries": base, "superpage_entries": large}
        for level, base, large in found["levels"]
    ]
    used = [{"used": pages, "number": found[pages]["pages"]} for pages in PAGES]
    return points + marked + used


def draw_levels(axes, table):
    """Marks the entries of each level, and those for superpages if they are others."""
    style = {"textcoords": "offset points", "color": marks.RED, "va": "top"}
    for row in table:
        if not row.get("base_entries"):
            continue
        base, large = row["base_entries"], row["superpage_entries"]
        axes.axvline(base, color=marks.RED, linestyle="--")
        note = "" if large in (None, base) else f"\n({large} for superpages)"
        axes.annotate(f"level {row['level']}:\n{base} entries{note}", (base, 98), (5, 0), **style)


def draw(drawing, table):
    from matplotlib import ticker  # pylint: disable=import-outside-toplevel

    axes = drawing.add_subplot()
    used = {row["used"]: row["number"] for row in table if "used" in row}
    for pages, (label, colour) in PAGES.items():
        own = [row for row in table if row.get("pages") == pages]
        where = [row["entries"] for row in own]
        ratios = [100 * row["miss_ratio"] for row in own]
        axes.plot(where, ratios, color=colour, linewidth=2, label=f"on {used[pages]} {label}")
    draw_levels(axes, table)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(ticker.LogLocator(base=4))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.set(xlabel="entries of the TLB", xlim=(1, 1 << 18))
    axes.set(ylabel="misses, % of the recorded accesses", ylim=(-2, 100))
    axes.set_title("On superpages far fewer entries hold the tree")
    axes.legend(loc="upper left")


def at(table, pages, entries):
    """Returns the miss ratio at the largest number of entries up to the given one."""
    return max(
        (row["entries"], row["miss_ratio"])
        for row in table
        if row.get("pages") == pages and row["entries"] <= entries
    )[1]


def says(table):
    marked = [row for row in table if row.get("base_entries")]
    used = {row["used"]: row["number"] for row in table if "used" in row}
    shares = " and ".join(
        f"{100 * at(table, 'base', row['base_entries']):.0f} % with the {row['base_entries']} "
        f"entries of level {row['level']}"
        for row in marked
    )
    first = marked[0]
    entries = first["superpage_entries"] or first["base_entries"]
    large = 100 * at(table, "superpages", entries)
    return [
        f"On {used['base']} base pages the tree misses {shares}.",
        f"On {used['superpages']} superpages it misses {large:.2f} % with the {entries} entries of "
        f"level {first['level']}.",
    ]
