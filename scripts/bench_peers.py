# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_peers.py compares the results of `bench.py -p peers` with the limits: page faults, CPU,
peak memory.

CPU is user time plus the least system time of a configuration's runs (bench.py has the reason). A
CPU ratio is taken round by round, so that both runs of a pair had the same machine: the median of
the rounds, and their range as its interval. All ratios are the peer's over smalloc's, or base
pages' over a configuration's: more is faster."""
import math
import statistics

JEMALLOC = "jemalloc-thp"
PEERS = ("base", "thp", "jemalloc", "jemalloc-thp", "mimalloc", "tcmalloc")
OURS = ("ours", "preload", "ours-guest")
FAULTS_FACTOR, FAULTS_MORE = 1.1, 20000  # limit of smalloc's page faults: factor of jemalloc's, and number above it
CPU_OF_JEMALLOC, CPU_OF_FASTEST, SLOWER_ALLOWED = 0.98, 0.95, 3
PLAIN_MEMORY = 1.05  # limit of a plain binary's peak memory under smalloc, against the larger of glibc's and the leanest peer's
LEAN_PEERS = ("jemalloc", "jemalloc-thp", "mimalloc", "tcmalloc")


def round_ratios(runs, key, other, what="cpu"):
    """Returns the ratios other / key, one for each round that both have run."""
    least = {k: min(r["system_seconds"] for r in runs[k]) if what == "cpu" else 0.0 for k in (key, other)}
    return [(b["user_seconds"] + least[other]) / max(a["user_seconds"] + least[key], 1e-6)
            for a, b in zip(runs[key], runs[other])]


def geometric(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else float("nan")


def judge(program):
    """Returns the limits of one program; `runs` are its runs by configuration. None: a
    configuration is missing."""
    results, runs = program["results"], program["runs"]
    if not {"base", "ours", JEMALLOC} <= set(results):
        return None
    ours = results["ours"]
    pairs = round_ratios(runs, "ours", JEMALLOC)
    fastest = max((k for k in PEERS if k in results and results[k]["in_effect"]),
                  key=lambda k: statistics.median(round_ratios(runs, k, "base")))
    allowed_faults = FAULTS_FACTOR * results[JEMALLOC]["minor_faults"] + FAULTS_MORE
    verdict = {"name": program["name"], "faults": ours["minor_faults"], "jemalloc_faults": results[JEMALLOC]["minor_faults"],
               "faults_ok": ours["minor_faults"] <= allowed_faults,
               "cpu_of_jemalloc": statistics.median(pairs), "interval": [min(pairs), max(pairs)],
               "fastest": fastest, "cpu_of_fastest": statistics.median(round_ratios(runs, "ours", fastest)),
               "memory": ours["peak_rss_bytes"] / results["base"]["peak_rss_bytes"]}
    verdict["cpu_ok"] = verdict["cpu_of_jemalloc"] >= CPU_OF_JEMALLOC
    if "preload" in results:
        lean = min((results[k]["peak_rss_bytes"] for k in LEAN_PEERS if k in results), default=0)
        limit = max(PLAIN_MEMORY, lean / results["base"]["peak_rss_bytes"])
        verdict["plain_memory"] = results["preload"]["peak_rss_bytes"] / results["base"]["peak_rss_bytes"]
        verdict["plain_memory_ok"] = verdict["plain_memory"] <= limit
        plain = round_ratios(runs, "ours", "preload")
        verdict["plugin_over_plain"] = statistics.median(plain)
        verdict["plugin_interval"] = [min(plain), max(plain)]
    return verdict


def means(programs, configurations):
    """Returns geometric means against base pages by configuration: user time, CPU, peak memory."""
    answer = {}
    for key in configurations:
        having = [p for p in programs if {key, "base"} <= set(p["results"]) and p["results"][key]["in_effect"]]
        if having:
            answer[key] = {
                "programs": len(having),
                "user": geometric([statistics.median(round_ratios(p["runs"], key, "base", "user")) for p in having]),
                "cpu": geometric([statistics.median(round_ratios(p["runs"], key, "base")) for p in having]),
                "memory": geometric([p["results"][key]["peak_rss_bytes"] / p["results"]["base"]["peak_rss_bytes"] for p in having])}
    return answer


def mark(ok):
    return "" if ok else " !"


def markdown(report):
    """Returns both tables: the limits program by program, and the means."""
    judged = [v for v in map(judge, report["programs"]) if v]
    lines = ["| program | page faults (jemalloc's) | CPU against jemalloc thp:always | fastest peer | CPU against it | peak memory"
             " | plugin's build against the plain binary |", "|---|---|---|---|---|---|---|"]
    for v in judged:
        plain = (f"{v['plugin_over_plain']:.2f} [{v['plugin_interval'][0]:.2f}, {v['plugin_interval'][1]:.2f}]"
                 if "plugin_over_plain" in v else "-")
        lines.append(f"| {v['name']} | {v['faults']:,} ({v['jemalloc_faults']:,}){mark(v['faults_ok'])}"
                     f" | {v['cpu_of_jemalloc']:.2f} [{v['interval'][0]:.2f}, {v['interval'][1]:.2f}]{mark(v['cpu_ok'])}"
                     f" | {v['fastest']} | {v['cpu_of_fastest']:.2f}{mark(v['cpu_of_fastest'] >= CPU_OF_FASTEST)}"
                     f" | {v['memory']:.3f} | {plain} |")
    lines += ["", "| configuration | programs | user time | CPU | peak memory |", "|---|---|---|---|---|"]
    for key, m in means(report["programs"], report["configurations"]).items():
        lines.append(f"| {report['configurations'][key]} | {m['programs']} | {m['user']:.3f} | {m['cpu']:.3f} | {m['memory']:.3f} |")
    slower = sum(v["cpu_of_fastest"] < CPU_OF_FASTEST for v in judged)
    held = (f"Bars held: page faults {sum(v['faults_ok'] for v in judged)} of {len(judged)}; CPU of jemalloc"
            f" {sum(v['cpu_ok'] for v in judged)} of {len(judged)}; CPU of the fastest peer {len(judged) - slower} of {len(judged)}"
            f" (all but {SLOWER_ALLOWED}); plain binaries' memory"
            f" {sum(v.get('plain_memory_ok', False) for v in judged)} of {sum('plain_memory_ok' in v for v in judged)}.")
    lines += ["", held + " `!`: missed."]
    return "\n".join(lines)
