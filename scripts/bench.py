#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench.py decides whether one page-size configuration is faster or smaller than another, and when it cannot tell.

Every program of the suite runs under every configuration, interleaved, N times. User time shows the translation
effect: its median counts. System time is first touch, and on a virtual machine it depends on whether the host still has
the memory at hand (0.1 s or 2 s for the same gigabyte): its minimum counts. total = median user + least system; the
plain median of user + system is shown beside it (u+s). A difference smaller than the spread of the runs is called "same". Peak memory is the kernel's high-water mark;
superpages are the largest AnonHugePages seen while the program ran. Outputs must agree byte for byte.

Baselines lie unless checked: glibc 2.36 ignores glibc.malloc.hugetlb=1 in some starts, so such a run counts only when
superpages were seen, and is repeated otherwise.

  bench.py                             every kernel, all configurations, five runs each
  bench.py --quick -p mixed,gups       small sizes, two programs
  bench.py -p mixed -c base,ours --json result.json
"""
import argparse
import hashlib
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPERPAGE_BYTES = 2 << 20
ATTEMPTS = 10  # starts allowed until glibc's tunable takes effect
IGNORED_BYTES = 96 << 20  # a program of that size without a superpage was started without the tunable


def note(text):
    print(text, file=sys.stderr, flush=True)


# --- configurations ---------------------------------------------------------------------------------------------------


def find_library(pattern):
    """The newest shared library of that name that the dynamic linker knows; None when the package is missing."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}, check=False).stdout
    found = re.findall(rf"^\s*{pattern}\S*.*=> (\S+)$", listing, re.M)
    return found[0] if found else None


def configurations(build):
    """name -> (what it is, which build it runs, environment), in the order of the table; peers only when installed."""
    jemalloc, mimalloc = find_library(r"libjemalloc\.so\.2"), find_library(r"libmimalloc\.so\.2")
    tcmalloc = find_library(r"libtcmalloc_minimal\.so\.4")
    preload = str(build.resolve() / "lib" / "libsmalloc_preload.so")
    table = {
        "base": ("glibc, base pages", "plain", {}),
        "thp": ("glibc, hugetlb=1", "plain", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        "jemalloc": ("jemalloc", "plain", {"LD_PRELOAD": jemalloc}),
        "jemalloc-thp": ("jemalloc, thp:always", "plain", {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "thp:always"}),
        "mimalloc": ("mimalloc", "plain", {"LD_PRELOAD": mimalloc}),
        "tcmalloc": ("tcmalloc", "plain", {"LD_PRELOAD": tcmalloc}),
        "ours": ("smalloc", "ours", {}),
        "ours-off": ("smalloc, heap:off", "ours", {"SMALLOC_CONF": "heap:off"}),
        "ours-superpage": ("smalloc, heap:superpage", "ours", {"SMALLOC_CONF": "heap:superpage"}),
        "preload": ("smalloc preloaded", "plain", {"LD_PRELOAD": preload}),
        "preload-superpage": ("preloaded, heap:superpage", "plain",
                              {"LD_PRELOAD": preload, "SMALLOC_CONF": "heap:superpage"}),
    }
    return {k: v for k, v in table.items() if None not in v[2].values()}


DEFAULT_CONFIGURATIONS = "base,thp,jemalloc,jemalloc-thp,mimalloc,ours"
WHOLE_HEAP = ("thp", "jemalloc-thp")  # superpages for everything


# --- building ---------------------------------------------------------------------------------------------------------


def compiler_for(build, variant, language):
    cxx = language == "c++"
    plain = os.environ.get("CLANGXX" if cxx else "CLANG", "clang++-22" if cxx else "clang-22")
    if variant == "plain":
        return [plain], []
    wrapper = build / "bin" / ("smalloc-c++" if cxx else "smalloc-cc")
    if os.access(wrapper, os.X_OK):
        return [str(wrapper)], []
    lib = build / "lib"
    return ([plain, f"-fplugin={lib}/SmallocPlugin.so"],
            [f"-L{lib}", "-Wl,--no-as-needed", "-lsmalloc", f"-Wl,-rpath,{lib}"])


def compile_program(program, variant, build, work):
    """Compiles a program of ours with or without the plugin; returns its path. The remarks go to NAME.remarks."""
    source = ROOT / "benchmarks" / program["source"]
    out = work / variant / program["name"]
    out.parent.mkdir(parents=True, exist_ok=True)
    if "shuffle" in program:
        shuffled = work / f"{program['name']}{source.suffix}"
        script = [sys.executable, str(source.parent / "shuffle.py"), str(program["shuffle"])]
        with open(source, "rb") as stdin, open(shuffled, "wb") as stdout:
            subprocess.run(script, stdin=stdin, stdout=stdout, check=True)
        source = shuffled
    compiler, libraries = compiler_for(build, variant, "c++" if source.suffix == ".cpp" else "c")
    remarks = [] if variant == "plain" else ["-Rpass=smalloc", "-Rpass-missed=smalloc"]
    command = [*compiler, "-O2", *remarks, str(source), "-o", str(out), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    out.with_suffix(".remarks").write_text(done.stderr)
    if done.returncode:
        raise RuntimeError(f"cannot build {program['name']} ({variant}): {shlex.join(command)}\n{done.stderr[-2000:]}")
    return [str(out)]


def real_command(program, variant, build, work, quick):
    """The command line of a real program, from its script: built already, or built now by its own build system."""
    script = ROOT / "benchmarks" / "real" / f"{program['real']}.sh"
    environment = {**os.environ, "SMALLOC_WORK": str(work / "real"), "SMALLOC_BUILD": str(build)}
    verb = ["command", variant] + (["--quick"] if quick else [])
    done = subprocess.run(["bash", str(script), *verb], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot prepare {program['real']} ({variant}): {script} {' '.join(verb)}")
    return shlex.split(done.stdout.strip().splitlines()[-1])


# --- running ----------------------------------------------------------------------------------------------------------


def status_bytes(path, key):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith(key):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


class Watcher(threading.Thread):
    """Samples superpages (smaps_rollup, seldom: it walks the page tables) and the high-water mark of the memory. With
    needs_superpages it ends a program that has grown past IGNORED_BYTES without one: its run would count for nothing."""

    def __init__(self, pid, needs_superpages=False):
        super().__init__(daemon=True)
        self.pid, self.superpage_bytes, self.peak_bytes = pid, 0, 0
        self.needs_superpages, self.ended = needs_superpages, False
        self.stop = threading.Event()

    def run(self):
        pause, next_rollup = 0.002, 0.0
        started = time.monotonic()
        while not self.stop.wait(pause):
            self.peak_bytes = max(self.peak_bytes, status_bytes(f"/proc/{self.pid}/status", "VmHWM:"))
            elapsed = time.monotonic() - started
            if elapsed >= next_rollup:
                huge = status_bytes(f"/proc/{self.pid}/smaps_rollup", "AnonHugePages:")
                self.superpage_bytes = max(self.superpage_bytes, huge)
                next_rollup = elapsed + min(0.4, 0.01 + elapsed / 4)
                if self.needs_superpages and not self.superpage_bytes and self.peak_bytes > IGNORED_BYTES:
                    self.ended = True
                    os.kill(self.pid, signal.SIGKILL)
                    return
            pause = min(0.1, pause * 1.5)


def run_once(command, extra, cpu, ok_status=0, needs_superpages=False):
    """One run: times, peak memory, superpages, faults, digest of stdout. None: ended early, without superpages."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_CONF", "SMALLOC_CONF")}
    environment.update(extra)
    prepare = None if cpu is None else (lambda: os.sched_setaffinity(0, {cpu}))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                 preexec_fn=prepare)
        watcher = Watcher(child.pid, needs_superpages)
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - started
        watcher.stop.set()
        watcher.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        if watcher.ended and child.returncode == -signal.SIGKILL:
            return None
        if child.returncode != ok_status:
            err.seek(0)
            raise RuntimeError(f"exit status {child.returncode}: {shlex.join(command)}\n"
                               f"{err.read()[-2000:].decode(errors='replace')}")
        out.seek(0)
        digest = hashlib.sha256(out.read()).hexdigest()
    # A child's ru_maxrss begins with the size of the process that started it: for small programs only the samples count.
    own = status_bytes("/proc/self/status", "VmHWM:")
    rss = usage.ru_maxrss * 1024
    return {"user_seconds": usage.ru_utime, "system_seconds": usage.ru_stime, "wall_seconds": wall,
            "peak_rss_bytes": watcher.peak_bytes if watcher.peak_bytes and rss <= 2 * own else rss,
            "superpages": watcher.superpage_bytes // SUPERPAGE_BYTES, "minor_faults": usage.ru_minflt,
            "output_sha256": digest}


WARM = """
import ctypes, mmap, sys
size = int(sys.argv[1])
memory = mmap.mmap(-1, size)
memory.madvise(mmap.MADV_HUGEPAGE)
ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, size)
"""


def warm(size):
    """Touches that much memory and gives it back. A guest reports free 2 MiB blocks to its host after two seconds, and
    the next superpage then waits for the host: this makes every run start with memory that is there."""
    if size > (64 << 20):
        subprocess.run([sys.executable, "-c", WARM, str(size // SUPERPAGE_BYTES * SUPERPAGE_BYTES)], check=False)


def run_checked(command, name, extra, options, program, warm_bytes):
    """As run_once, but a glibc hugetlb=1 start that was ignored is repeated; tells whether it took effect at last."""
    attempts = ATTEMPTS if name == "thp" else 1
    for attempt in range(attempts):
        warm(warm_bytes)
        result = run_once(command, extra, options.cpu, program.get("status", 0), attempt + 1 < attempts)
        if result is None:
            continue
        result["in_effect"] = name != "thp" or result["superpages"] > 0
        if result["in_effect"]:
            break
        if result["peak_rss_bytes"] < 3 * SUPERPAGE_BYTES and attempt >= 4:
            break  # too small to tell: nothing to back
    return result


# --- statistics -------------------------------------------------------------------------------------------------------


def spread(values):
    """Interquartile range over the median (the whole range for fewer than four values)."""
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
    """(speed of other against base, whether that is more than the spread of the two)."""
    ratio = base[f"{key}_seconds"] / other[f"{key}_seconds"] if other[f"{key}_seconds"] else 1.0
    return ratio, abs(ratio - 1) > max(base[f"{key}_spread"], other[f"{key}_spread"], 0.005)


# --- output -----------------------------------------------------------------------------------------------------------


def ratio_text(base, other, key):
    ratio, clear = compare(base, other, key)
    return f"{ratio:.2f}x" if clear else f"{ratio:.2f}~"


def print_program(name, results, names):
    base = results.get("base")
    print(f"\n{name}")
    print(f"  {'configuration':22} {'user s':>7} {'sys min':>7} {'total s':>7} {'u+s med':>7} {'spread':>6} {'speed':>6} {'user':>6}"
          f" {'RSS MiB':>8} {'vs base':>7} {'superpages':>10} {'faults':>8}")
    for key, s in results.items():
        speed = ratio_text(base, s, "total") if base else ""
        user = ratio_text(base, s, "user") if base else ""
        rss = f"{100 * (s['peak_rss_bytes'] / base['peak_rss_bytes'] - 1):+.1f}%" if base and base["peak_rss_bytes"] else ""
        mark = "" if s["in_effect"] else "  (no superpage seen: the tunable had no effect)"
        print(f"  {names[key]:22} {s['user_seconds']:7.2f} {s['system_seconds_min']:7.2f} {s['total_seconds']:7.2f} {s['sum_seconds_median']:7.2f}"
              f" {100 * s['total_spread']:5.1f}% {speed:>6} {user:>6} {s['peak_rss_bytes'] / 2**20:8.1f} {rss:>7}"
              f" {s['superpages']:10d} {s['minor_faults']:8d}{mark}")


def verdict(results):
    """Ours beside base pages and beside the best whole-heap configuration, in numbers that may be asserted."""
    if "ours" not in results or "base" not in results:
        return None
    ours, base = results["ours"], results["base"]
    answer = {"rss_growth_bytes": ours["peak_rss_bytes"] - base["peak_rss_bytes"],
              "rss_allowed_bytes": max(base["peak_rss_bytes"] // 50, 512 << 10)}
    answer["rss_ok"] = answer["rss_growth_bytes"] <= answer["rss_allowed_bytes"]
    for key in ("user", "total"):
        answer[f"{key}_speed_vs_base"], answer[f"{key}_speed_is_clear"] = compare(base, ours, key)
        rivals = [k for k in WHOLE_HEAP if k in results and results[k]["in_effect"]]
        if rivals:
            best = min(rivals, key=lambda k: results[k][f"{key}_seconds"])
            answer[f"{key}_best_whole_heap"] = best
            answer[f"{key}_speed_vs_best_whole_heap"] = compare(results[best], ours, key)[0]
            answer[f"{key}_best_whole_heap_rss_bytes"] = results[best]["peak_rss_bytes"]
    return answer


def print_verdict(v):
    if not v:
        return
    clear = "" if v["total_speed_is_clear"] else " (below the spread: same)"
    print(f"  -> smalloc: {v['total_speed_vs_base']:.2f}x the speed of base pages{clear}, user time alone "
          f"{v['user_speed_vs_base']:.2f}x; memory {v['rss_growth_bytes'] / 2**20:+.1f} MiB "
          f"({'within' if v['rss_ok'] else 'OVER'} the allowed {v['rss_allowed_bytes'] / 2**20:.1f})")
    if "total_best_whole_heap" in v:
        print(f"     {v['total_speed_vs_best_whole_heap']:.2f} of the best whole-heap configuration "
              f"({v['total_best_whole_heap']}), user time {v['user_speed_vs_best_whole_heap']:.2f}")


def machine():
    def first(path, pattern):
        try:
            found = re.search(pattern, Path(path).read_text(encoding="utf-8", errors="replace"))
            return found.group(1).strip() if found else None
        except OSError:
            return None
    return {"cpu": first("/proc/cpuinfo", r"model name\s*:\s*(.*)"), "cpus": os.cpu_count(),
            "memory_bytes": status_bytes("/proc/meminfo", "MemTotal:"), "kernel": os.uname().release,
            "thp": first("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
            "hypervisor": "hypervisor" in (first("/proc/cpuinfo", r"flags\s*:\s*(.*)") or "")}


# --- main -------------------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", "--programs", help="comma-separated names of programs and groups (default: all kernels; 'demo': the demo's; 'real': all from Debian's sources)")
    parser.add_argument("-c", "--configurations", default=DEFAULT_CONFIGURATIONS, help="default: %(default)s")
    parser.add_argument("-n", "--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--suite", type=Path, default=ROOT / "benchmarks" / "suite.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the plugin and the library are")
    parser.add_argument("--work", type=Path, help="where programs are built (default: BUILD/bench)")
    parser.add_argument("--cpu", type=int, help="pin the programs to this CPU")
    parser.add_argument("--no-warm", action="store_true", help="do not touch memory before each run")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--record", action="store_true", help="with -p real, or some of these programs: keep the results for docs/programs.md, in place of those of the same programs; with -p throughput: for docs/throughput.md")
    parser.add_argument("--deadline", type=float, help="start no round that would end later than that many seconds from now")
    parser.add_argument("--list", action="store_true", help="list programs and configurations")
    options = parser.parse_args()
    if options.record:
        if options.quick or options.json:
            parser.error("--record: only without --quick (sizes too small to show) and without --json")
        name = "throughput.json" if options.programs == "throughput" else "programs.json"
        options.json = ROOT / "benchmarks" / "results" / name
    return options


def keep_others(report, recorded):
    """The recorded results of programs that were not measured now, in their order."""
    if not recorded.exists():
        return
    measured = {p["name"]: p for p in report["programs"]}
    before = json.loads(recorded.read_text())["programs"]
    names = [p["name"] for p in before] + [n for n in measured if n not in {p["name"] for p in before}]
    others = {p["name"]: p for p in before}
    report["programs"] = [measured.get(n) or others[n] for n in names]


def select(suite, wanted, quick):
    if wanted == "demo":
        key = "demo_quick" if quick else "demo"
        return [p for p in suite if p.get(key, p.get("demo"))]
    if wanted == "real":
        return [p for p in suite if "real" in p]
    if not wanted:
        return [p for p in suite if "real" not in p and "group" not in p]
    by_name = {p["name"]: [p] for p in suite}
    for p in suite:
        if "group" in p:
            by_name.setdefault(p["group"], []).append(p)
    unknown = [n for n in wanted.split(",") if n not in by_name]
    if unknown:
        note(f"bench.py: error: unknown program: {', '.join(unknown)}\nhint: bench.py --list")
        sys.exit(2)
    return [p for n in wanted.split(",") for p in by_name[n]]


class Measurement:
    """One program under every configuration: built and run once for reference when made, then round by round."""

    def __init__(self, program, chosen, options, work):
        self.program, self.chosen, self.options = program, chosen, options
        self.name, self.failed = program["name"], None
        self.commands, self.runs = {}, {k: [] for k in chosen}
        for variant in sorted({v for _, v, _ in chosen.values()} | {"plain"}):
            if "real" in program:
                self.commands[variant] = real_command(program, variant, options.build, work, options.quick)
            else:
                built = compile_program(program, variant, options.build, work)
                self.commands[variant] = built + arguments(program, options)
        note(f"{self.name}: warming up")
        self.reference = run_once(self.commands["plain"], {}, options.cpu, program.get("status", 0))
        self.warm_bytes = 0 if options.no_warm else self.reference["peak_rss_bytes"] * 9 // 8

    def round(self, r):
        order = list(self.chosen)
        for key in order[r % len(order):] + order[:r % len(order)]:
            _, variant, extra = self.chosen[key]
            runs = self.runs[key]
            if runs and not runs[-1]["in_effect"]:
                runs.append({**runs[-1]})  # never took effect: not worth ten more starts
                continue
            result = run_checked(self.commands[variant], key, extra, self.options, self.program, self.warm_bytes)
            if result["output_sha256"] != self.reference["output_sha256"]:
                raise RuntimeError(f"{self.name}: the output under '{key}' differs from the plain program's")
            runs.append(result)
            if not self.options.no_warm:
                self.warm_bytes = max(self.warm_bytes, min(result["peak_rss_bytes"], machine()["memory_bytes"] // 2))
            note(f"{self.name}: round {r + 1}: {key}: user {result['user_seconds']:.2f} "
                 f"sys {result['system_seconds']:.2f} RSS {result['peak_rss_bytes'] >> 20} MiB, "
                 f"{result['superpages']} superpages")

    def report(self):
        results = {k: summarise(v) for k, v in self.runs.items() if v}
        return {"name": self.name, "expect": self.program["expect"], "results": results, "verdict": verdict(results),
                "runs": self.runs}


def arguments(program, options):
    """The program's arguments for these sizes: the demonstration's own where it has some, so that it fits its time."""
    if options.programs == "demo":
        own = program.get("demo_quick_args" if options.quick else "demo_args")
        if own is not None:
            return own
    return program.get("quick" if options.quick else "args", [])


def measure_all(programs, chosen, options, work):
    """Every program, one round after the other over all of them, so that a deadline costs rounds, not programs.
    Returns the measurements, those that failed among them."""
    started = time.monotonic()
    measurements = []
    for program in programs:
        try:
            measurements.append(Measurement(program, chosen, options, work))
        except RuntimeError as error:
            note(f"bench.py: error: {error}")
            yield None
    longest = 0.0
    for r in range(options.runs):
        began = time.monotonic()
        if r and options.deadline and began + longest - started > options.deadline:
            note(f"out of time after {r} of {options.runs} rounds")
            break
        for m in [m for m in measurements if not m.failed]:
            try:
                m.round(r)
            except RuntimeError as error:
                note(f"bench.py: error: {error}")
                m.failed = error
        longest = max(longest, time.monotonic() - began)
    yield from measurements


def main():
    options = parse_arguments()
    suite = json.loads(options.suite.read_text())["programs"]
    available = configurations(options.build)
    if options.list:
        for p in suite:
            print(f"{p['name']:16} {p.get('source') or 'real/' + p['real'] + '.sh':28} expected: {p['expect']}")
        for key, (label, _, extra) in available.items():
            print(f"{key:16} {label:28} {' '.join(f'{k}={v}' for k, v in extra.items())}")
        return 0
    wanted = options.configurations.split(",")
    for key in wanted:
        if key not in available:
            if key in DEFAULT_CONFIGURATIONS.split(","):
                note(f"bench.py: left out: {key} (its package is not installed)")
                continue
            note(f"bench.py: error: unknown configuration: {key}\nhint: bench.py --list")
            return 2
    chosen = {k: available[k] for k in wanted if k in available}
    if any(v[1] == "ours" for v in chosen.values()) and not (options.build / "lib" / "SmallocPlugin.so").exists():
        note(f"bench.py: left out: our configurations (no plugin in {options.build})\nhint: cmake --build {options.build}")
        chosen = {k: v for k, v in chosen.items() if v[1] != "ours"}
    work = (options.work or options.build / "bench").resolve()
    options.build = options.build.resolve()
    if options.record and options.programs != "throughput" and any("real" not in p for p in select(suite, options.programs, options.quick)):
        note("bench.py: error: --record: only for programs from Debian's sources, or for all of throughput\n"
             "hint: bench.py -p real --record")
        return 2
    report = {"schema": "smalloc.bench/1", "quick": options.quick, "machine": machine(),
              "configurations": {k: v[0] for k, v in chosen.items()}, "programs": []}
    failed = 0
    for m in measure_all(select(suite, options.programs, options.quick), chosen, options, work):
        if m is None or m.failed:
            failed = 1
            continue
        measured = m.report()
        print_program(m.name, measured["results"], {k: c[0] for k, c in chosen.items()})
        print_verdict(measured["verdict"])
        sys.stdout.flush()
        report["programs"].append(measured)
    if options.record and options.programs != "throughput":
        keep_others(report, options.json)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    print("\nspeed: base pages' time over this one's (more is faster), from the total (median user + least system "
          "time); user: from user time alone;\n~ : the difference is within the spread of the runs, so it is none.")
    if options.record and subprocess.run([sys.executable, ROOT / "scripts" / "regen_docs.py"], check=False).returncode:
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
