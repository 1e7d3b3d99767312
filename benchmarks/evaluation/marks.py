# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""marks.py has the colours and markers of the figures (Okabe and Ito's, which the colour-blind can tell apart)."""

GREY, BLUE, ORANGE, GREEN, RED, PURPLE = "#666666", "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"
SMALLOC, PRELOADED = "smalloc with the plugin", "smalloc, not recompiled"
CONFIGURATIONS = {  # of scripts/bench.py: label, colour, marker
    "base": ("glibc, base pages", GREY, "s"), "jemalloc": ("jemalloc", PURPLE, "v"), "jemalloc-thp": ("jemalloc, thp:always", ORANGE, "^"),
    "mimalloc": ("mimalloc", RED, "D"), "ours": (SMALLOC, BLUE, "o"), "preload": (PRELOADED, GREEN, "P")}


def cpu(numbers):
    return numbers["user_seconds"] + numbers["system_seconds"]
