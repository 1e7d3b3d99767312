# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_table.py computes whether two configurations differ by more than the spread of their runs,
and prints the result."""
import statistics

LEAST_RUNS = 3  # fewer runs do not show how far runs differ


def spread(values):
    """Returns the interquartile range over the median (the whole range for fewer than four values)."""
    middle = statistics.median(values)
    if len(values) < 2 or middle == 0:
        return 0.0
    if len(values) < 4:
        return (max(values) - min(values)) / middle
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


def summarise(runs):
    user = [r["user_seconds"] for r in runs]
    both = [r["user_seconds"] + r["system_seconds"] for r in runs]
    total = statistics.median(user) + min(r["system_seconds"] for r in runs)
    return {
        "runs": len(runs),
        "user_seconds": statistics.median(user), "user_spread": spread(user), "user_seconds_min": min(user),
        "system_seconds": statistics.median(r["system_seconds"] for r in runs),
        "system_seconds_min": min(r["system_seconds"] for r in runs),
        "total_seconds": total, "total_spread": spread(user) * statistics.median(user) / total if total else 0.0,
        "sum_seconds_median": statistics.median(both), "sum_spread": spread(both),
        "peak_rss_bytes": int(statistics.median(r["peak_rss_bytes"] for r in runs)),
        "superpages": int(statistics.median(r["superpages"] for r in runs)),
        "minor_faults": int(statistics.median(r["minor_faults"] for r in runs)),
        "in_effect": all(r["in_effect"] for r in runs),
    }


def compare(base, other, key):
    """Returns (speed of other against base, whether that exceeds the spread of both, which needs
    LEAST_RUNS of each)."""
    ratio = base[f"{key}_seconds"] / other[f"{key}_seconds"] if other[f"{key}_seconds"] else 1.0
    return ratio, min(base["runs"], other["runs"]) >= LEAST_RUNS and abs(ratio - 1) > max(base[f"{key}_spread"], other[f"{key}_spread"], 0.005)


def ratio_text(base, other, key):
    ratio, clear = compare(base, other, key)
    if min(base["runs"], other["runs"]) < LEAST_RUNS:
        return f"{ratio:.2f}?"
    return f"{ratio:.2f}x" if clear else f"{ratio:.2f}~"


def spread_text(s):
    return f"{100 * s['total_spread']:.1f}%" if s["runs"] >= LEAST_RUNS else "?"


def print_program(name, results, names):
    base = results.get("base")
    print(f"\n{name}")
    print(f"  {'configuration':22} {'runs':>4} {'user s':>7} {'sys min':>7} {'total s':>7} {'u+s med':>7} {'spread':>6} {'speed':>6} {'user':>6}"
          f" {'RSS MiB':>8} {'vs base':>7} {'superpages':>10} {'faults':>8}")
    for key, s in results.items():
        speed = ratio_text(base, s, "total") if base else ""
        user = ratio_text(base, s, "user") if base else ""
        rss = f"{100 * (s['peak_rss_bytes'] / base['peak_rss_bytes'] - 1):+.1f}%" if base and base["peak_rss_bytes"] else ""
        mark = "" if s["in_effect"] else "  (no superpage seen: the tunable had no effect)"
        print(f"  {names[key]:22} {s['runs']:4d} {s['user_seconds']:7.2f} {s['system_seconds_min']:7.2f} {s['total_seconds']:7.2f} {s['sum_seconds_median']:7.2f}"
              f" {spread_text(s):>6} {speed:>6} {user:>6} {s['peak_rss_bytes'] / 2**20:8.1f} {rss:>7}"
              f" {s['superpages']:10d} {s['minor_faults']:8d}{mark}")


def verdict(results, whole_heap):
    """Returns smalloc's results beside base pages and beside the best of the configurations
    whole_heap, as numbers to assert."""
    if "ours" not in results or "base" not in results:
        return None
    ours, base = results["ours"], results["base"]
    answer = {"runs": min(ours["runs"], base["runs"]), "rss_growth_bytes": ours["peak_rss_bytes"] - base["peak_rss_bytes"],
              "rss_allowed_bytes": max(base["peak_rss_bytes"] // 50, 512 << 10)}
    answer["rss_ok"] = answer["rss_growth_bytes"] <= answer["rss_allowed_bytes"]
    for key in ("user", "total"):
        answer[f"{key}_speed_vs_base"], answer[f"{key}_speed_is_clear"] = compare(base, ours, key)
        rivals = [k for k in whole_heap if k in results and results[k]["in_effect"]]
        if rivals:
            best = min(rivals, key=lambda k: results[k][f"{key}_seconds"])
            answer[f"{key}_best_whole_heap"] = best
            answer[f"{key}_speed_vs_best_whole_heap"] = compare(results[best], ours, key)[0]
            answer[f"{key}_best_whole_heap_rss_bytes"] = results[best]["peak_rss_bytes"]
    return answer


def print_verdict(v):
    if not v:
        return
    memory = (f"memory {v['rss_growth_bytes'] / 2**20:+.1f} MiB "
              f"({'within' if v['rss_ok'] else 'OVER'} the allowed {v['rss_allowed_bytes'] / 2**20:.1f})")
    if v["runs"] < LEAST_RUNS:
        print(f"  -> smalloc: {v['runs']} run{'s' * (v['runs'] != 1)} of each: no difference is claimed; {memory}")
        return
    clear = "" if v["total_speed_is_clear"] else " (below the spread: same)"
    print(f"  -> smalloc: {v['total_speed_vs_base']:.2f}x the speed of base pages{clear}, user time alone "
          f"{v['user_speed_vs_base']:.2f}x; {memory}")
    if "total_best_whole_heap" in v:
        print(f"     {v['total_speed_vs_best_whole_heap']:.2f} of the best whole-heap configuration "
              f"({v['total_best_whole_heap']}), user time {v['user_speed_vs_best_whole_heap']:.2f}")
