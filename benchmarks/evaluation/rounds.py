# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rounds.py says what repeated measurements show: a middle, a spread, and whether two of them differ."""

import statistics

import bench_table


def values_of(results, prefix, what):
    """The values of a trial's rounds: what(numbers) of each key PREFIX/round-N that is there."""
    found, number = [], 1
    while (key := f"{prefix}/round-{number}") in results:
        found.append(what(results[key]))
        number += 1
    return found


def summary(values):
    """Median, least and most; None without values."""
    return (
        {"median": statistics.median(values), "low": min(values), "high": max(values), "rounds": len(values)}
        if values
        else None
    )


def compare(base, other):
    """Returns (how many times as fast as base other is, the words for it). A ratio within the
    spread of the rounds, or of fewer than three rounds, is no difference."""
    ratio = statistics.median(base) / statistics.median(other)
    if min(len(base), len(other)) < bench_table.LEAST_RUNS:
        return None, "too few rounds"
    if abs(ratio - 1) <= max(bench_table.spread(base), bench_table.spread(other), 0.005):
        return None, "within the spread"
    return ratio, f"{ratio:.2f}x"
