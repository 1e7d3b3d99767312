#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""profile_cost.py measures the cost of recording for docs/evidence/recording.md. Programs built
plainly, with LLVM's -fmemory-profile and with profile-generate run in turn, and the medians of user
+ system time are compared.

  profile_cost.py                  a table
  profile_cost.py --record         also benchmarks/results/profile.json, which scripts/regen_docs.py reads
  profile_cost.py --quick          one short run each
"""
import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import result_rows  # noqa: E402
from bench_runs import machine_in_words  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
# Name, source, arguments, arguments of --quick. spmv once with a vector that fits the caches, once
# with one that does not.
PROGRAMS = [
    ("matmul", "profile/matmul.c", ["600", "2"], ["300"]),
    ("matmul by rows", "profile/matmul_rows.c", ["1000", "2"], ["300"]),
    ("spmv, cached vector", "kernels/spmv.c", ["18", "14", "16", "12"], ["12", "10", "8", "2"]),
    ("spmv, large vector", "kernels/spmv.c", ["18", "23", "8", "3"], ["12", "14", "8", "1"]),
    ("stream", "kernels/stream.c", ["64", "10"], ["8", "2"]),
    ("gups", "kernels/gups.c", ["23"], ["14"]),
    ("list", "kernels/list.c", ["500000", "16384", "3"], ["20000", "1024", "1"]),
    ("tree", "kernels/tree.c", ["200000"], ["10000"]),
    ("hash_probe", "kernels/hash_probe.c", ["22"], ["14"]),
]


def fail(what, why, hint):
    print(f"profile_cost.py: error: {what}: {why}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def seconds(command, environment, folder):
    """Returns user and system time of a command: wall time depends on the machine's other load."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env={**os.environ, **environment}, cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        fail(" ".join(map(str, command)), done.stderr.decode(errors="replace").strip() or done.returncode, "run it by hand")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")),
               platform.machine())
    flags = next((line for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("flags")), "")
    return {"cpus": os.cpu_count(), "cpu": cpu, "hypervisor": " hypervisor" in flags, "kernel": platform.release()}


def measure(options, folder):
    build = options.build.resolve()
    clang = shutil.which(options.clang)
    plugin, feedback = build / "lib/SmallocPlugin.so", build / "lib/libsmalloc_feedback.so"
    for needed in (plugin, feedback):
        if not needed.exists():
            fail(needed, "not found", "cmake --build build")
    if not clang:
        fail(options.clang, "not found", "--clang NAME")
    plain = [clang, "-O2", "-g1"]
    # Options that -fmemory-profile needs (clang's MemProf documentation).
    memprof = plain + ["-fmemory-profile", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fuse-ld=lld",
                       "-Wl,--build-id", "-no-pie", "-Wl,-z,noseparate-code"]
    traced = plain + [f"-fplugin={plugin}", "-fplugin-arg-smalloc-profile-generate"]
    preload = {"LD_PRELOAD": str(feedback)}
    results = []
    for name, source, arguments, quick in PROGRAMS:
        if options.only and name not in options.only:
            continue
        binaries = {}
        for kind, flags in {"plain": plain, "memprof": memprof, "traced": traced}.items():
            binaries[kind] = folder / kind
            made = subprocess.run(flags + [str(ROOT / "benchmarks" / source), "-o", str(binaries[kind]), "-lm"],
                                  capture_output=True, text=True, check=False)
            if made.returncode:
                if kind != "memprof":
                    fail(f"{name}, {kind}", made.stderr.strip(), "look at the compiler")
                del binaries[kind]  # this compiler has no profile runtime
        trace = folder / "trace"
        conf = f"heap:off,trace:{trace}"
        runs = {"plain": ("plain", {}), "memprof": ("memprof", {}), "no library": ("traced", {}),
                "default rate": ("traced", {**preload, "SMALLOC_CONF": conf + ",rate:0.01"}),
                "samples:2000": ("traced", {**preload, "SMALLOC_CONF": conf + ",samples:2000"}),
                "rate 1": ("traced", {**preload, "SMALLOC_CONF": conf + ",rate:1"})}
        runs = {kind: run for kind, run in runs.items() if run[0] in binaries}
        times, sizes = {kind: [] for kind in runs}, {}  # the sample differs: one run of a hundred contains a small table
        for _ in range(1 if options.quick else options.runs):
            for kind, (binary, environment) in runs.items():
                trace.unlink(missing_ok=True)
                times[kind].append(seconds([str(binaries[binary])] + (quick if options.quick else arguments), environment, folder))
                if trace.exists():
                    sizes.setdefault(kind, []).append(trace.stat().st_size)
        base = statistics.median(times["plain"])
        results.append({"name": name, "arguments": arguments, "plain_seconds": base,
                        "spread": (max(times["plain"]) - min(times["plain"])) / base if base else 0,
                        "ratios": {kind: statistics.median(t) / base for kind, t in times.items() if kind != "plain" and base},
                        "trace_bytes": sizes})
    return results


def text(report):
    rows = [["program", "plain", "-fmemory-profile", "no library", "default rate", "samples:2000", "rate 1", "trace a second, default",
             "rate 1"]]
    for r in report["programs"]:
        def ratio(kind):
            return f"{r['ratios'][kind]:.2f}x" if kind in r["ratios"] else "-"

        def size(kind):
            if kind not in r["trace_bytes"] or not r["plain_seconds"]:
                return "-"
            usual, most = (of(r["trace_bytes"][kind]) / r["plain_seconds"] / 2**20 for of in (statistics.median, max))
            return f"{usual:.2f} MiB" + (f" (once {most:.0f})" if most > 2 * usual + 1 else "")
        rows.append([r["name"], f"{r['plain_seconds']:.2f} s", ratio("memprof"), ratio("no library"), ratio("default rate"),
                     ratio("samples:2000"), ratio("rate 1"), size("default rate"), size("rate 1")])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def page(report):
    """Returns the section of docs/evidence/recording.md, which scripts/regen_docs.py writes there."""
    host, runs = report["machine"], report["runs"]
    where = machine_in_words(host)
    how = "one run each, so differences of some 10 % mean nothing" if runs == 1 else (
        f"medians of {runs} runs in turn; the largest spread of a plain program is "
        f"{100 * max(r['spread'] for r in report['programs']):.0f} %")
    return (f"{text(report)}\n\nUser + system time against the plain program, {how}. {where}, "
            f"Linux {host['kernel']}. Made by `scripts/profile_cost.py --record`.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = {"schema": "smalloc.profile-cost/2", "runs": options.runs, "machine": machine(),
                  "programs": measure(options, Path(folder))}
    if options.record and not options.quick and not options.only:
        (ROOT / "benchmarks/results/profile.json").write_text(result_rows.rows(report) + "\n", encoding="utf-8")
    print(text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
