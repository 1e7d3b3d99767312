#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench.py compares page-size configurations by speed and memory, and reports when a difference is
within the noise.

Every program of the suite runs under every configuration, interleaved, N times. User time shows the
translation effect: its median counts. System time is first touch: its minimum counts, because on a
virtual machine it depends on whether the host still has the memory (0.1 s or 2 s for the same
gigabyte). total = median user + least system; the plain median of user + system is shown beside it
(u+s). A difference smaller than the spread of the runs is called "same". Peak memory is the
kernel's high-water mark; superpages are the largest AnonHugePages seen while the program ran.
Outputs must agree byte for byte.

glibc 2.36 ignores glibc.malloc.hugetlb=1 in some starts. Such a run counts only if superpages were
seen; otherwise it is repeated.

  bench.py                             every kernel, all configurations, five runs each
  bench.py --quick -p mixed,gups       small sizes, two programs
  bench.py -p mixed -c base,ours --json result.json
  bench.py -p peers                    every program beside the peers of today, which scripts/build-peers builds, and the
                                       bars that smalloc has to reach; -p peers,grid,redis: these two only
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import bench_peers  # noqa: E402
from bench_runs import machine, run_checked, run_once  # noqa: E402
from bench_table import print_program, print_verdict, summarise, verdict  # noqa: E402
import result_rows  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def note(text):
    print(text, file=sys.stderr, flush=True)


# --- configurations ---------------------------------------------------------------------------------------------------


def find_library(pattern):
    """Returns the newest shared library of that name that the dynamic linker has; None if the
    package is missing."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}, check=False).stdout
    found = re.findall(rf"^\s*{pattern}\S*.*=> (\S+)$", listing, re.M)
    return found[0] if found else None


def configurations(build, peers=None):
    """Returns name -> (title, build variant, environment), in the order of the table; peers only if
    installed. `peers`: the folder of the allocators that scripts/build-peers has built; None: those
    of the system."""
    jemalloc, mimalloc, jemalloc_name, mimalloc_name = (
        (str(peers / "libjemalloc.so.2"), str(peers / "libmimalloc.so.3"), "jemalloc 5.3.1", "mimalloc 3.3.2") if peers else
        (find_library(r"libjemalloc\.so\.2"), find_library(r"libmimalloc\.so\.[23]"), "jemalloc", "mimalloc"))
    tcmalloc = find_library(r"libtcmalloc_minimal\.so\.4")
    preload = str(build.resolve() / "lib" / "libsmalloc.so")
    pass_on = str(build.resolve() / "bench" / "libpass_on.so")
    table = {
        "base": ("glibc, base pages", "plain", {}),
        "thp": ("glibc, hugetlb=1", "plain", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
        "jemalloc": (jemalloc_name, "plain", {"LD_PRELOAD": jemalloc}),
        "jemalloc-thp": (f"{jemalloc_name}, thp:always", "plain", {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "thp:always"}),
        "mimalloc": (mimalloc_name, "plain", {"LD_PRELOAD": mimalloc}),
        "tcmalloc": ("tcmalloc", "plain", {"LD_PRELOAD": tcmalloc}),
        "pass-on": ("two jumps", "plain", {"LD_PRELOAD": pass_on}),
        "ours": ("smalloc", "ours", {}),
        "ours-off": ("smalloc, heap:off", "ours", {"SMALLOC_CONF": "heap:off"}),
        "ours-superpage": ("smalloc, heap:superpage", "ours", {"SMALLOC_CONF": "heap:superpage"}),
        "ours-guest": ("smalloc, heap:guest", "ours", {"SMALLOC_CONF": "heap:guest"}),
        "preload": ("smalloc run, plain binary", "plain", {"LD_PRELOAD": preload}),
        "preload-superpage": ("preloaded, heap:superpage", "plain",
                              {"LD_PRELOAD": preload, "SMALLOC_CONF": "heap:superpage"}),
    }
    return {k: v for k, v in table.items() if None not in v[2].values()}


DEFAULT_CONFIGURATIONS = "base,thp,jemalloc,jemalloc-thp,mimalloc,ours"
PEERS_CONFIGURATIONS = ",".join(bench_peers.PEERS + bench_peers.OURS)
WHOLE_HEAP = ("thp", "jemalloc-thp")  # everything on superpages


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


def compile_pass_on(library):
    """Compiles the library whose functions only forward to the next ones."""
    source = ROOT / "benchmarks" / "throughput" / "pass_on" / "pass_on.c"
    Path(library).parent.mkdir(parents=True, exist_ok=True)
    compiler, _ = compiler_for(None, "plain", "c")
    done = subprocess.run([*compiler, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-builtin", str(source), "-o", library],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot build {library}: {done.stderr[-2000:]}")


def compile_program(program, variant, build, work):
    """Compiles a program of this repository with or without the plugin; returns its path. The
    remarks go to NAME.remarks."""
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
    command = [*compiler, "-O2", *remarks, str(source), "-o", str(out), *libraries, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    out.with_suffix(".remarks").write_text(done.stderr)
    if done.returncode:
        raise RuntimeError(f"cannot build {program['name']} ({variant}): {shlex.join(command)}\n{done.stderr[-2000:]}")
    return [str(out)]


def real_command(program, variant, build, work, quick):
    """Returns the command line of a real program, from its script, which builds it with its own
    build system if needed."""
    script = ROOT / "benchmarks" / "real" / f"{program['real']}.sh"
    environment = {**os.environ, "SMALLOC_WORK": str(work / "real"), "SMALLOC_BUILD": str(build)}
    verb = ["command", variant] + (["--quick"] if quick else [])
    done = subprocess.run(["bash", str(script), *verb], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot prepare {program['real']} ({variant}): {script} {' '.join(verb)}")
    return shlex.split(done.stdout.strip().splitlines()[-1])


# --- main -------------------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", "--programs", help="comma-separated names of programs and groups (default: all kernels; 'demo': the demo's; 'real': all from Debian's sources)")
    parser.add_argument("-c", "--configurations", help=f"default: {DEFAULT_CONFIGURATIONS}; with -p peers {PEERS_CONFIGURATIONS}")
    parser.add_argument("-n", "--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--suite", type=Path, default=ROOT / "benchmarks" / "suite.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the plugin and the library are")
    parser.add_argument("--work", type=Path, help="where programs are built (default: BUILD/bench)")
    parser.add_argument("--cpu", type=int, help="pin the programs to this CPU")
    parser.add_argument("--no-warm", action="store_true", help="do not touch memory before each run")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--record", action="store_true", help="with -p real, or some of these programs: keep the results for docs/evidence/programs.md, in place of those of the same programs; with -p throughput: for docs/evidence/throughput.md")
    parser.add_argument("--deadline", type=float, help="start no round that would end later than that many seconds from now")
    parser.add_argument("--list", action="store_true", help="list programs and configurations")
    options = parser.parse_args()
    words = (options.programs or "").split(",")
    options.peers = words[0] == "peers"
    if options.peers:
        options.programs = ",".join(words[1:]) or "all"
    options.configurations = options.configurations or (PEERS_CONFIGURATIONS if options.peers else DEFAULT_CONFIGURATIONS)
    if options.record:
        if options.quick or options.json:
            parser.error("--record: only without --quick (sizes too small to show) and without --json")
        name = "peers.json" if options.peers else "throughput.json" if options.programs == "throughput" else "programs.json"
        options.json = ROOT / "benchmarks" / "results" / name
    return options


def keep_others(report, recorded):
    """Returns the report with the recorded results of programs that were not measured now, in their
    order."""
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
    if wanted == "all":
        return suite
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
    """One program under every configuration. The constructor builds it and runs it once for
    reference; then round by round."""

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
        self.warm_bytes = 0
        self.warm_for(self.reference)

    def warm_for(self, result):
        """Sets the prepared memory to half as much again as any run has needed: base pages split
        existing superpages."""
        if not self.options.no_warm:
            self.warm_bytes = max(self.warm_bytes, min(result["peak_rss_bytes"] * 3 // 2, machine()["memory_bytes"] // 2))

    def round(self, r):
        order = list(self.chosen)
        for key in order[r % len(order):] + order[:r % len(order)]:
            _, variant, extra = self.chosen[key]
            runs = self.runs[key]
            if runs and not runs[-1]["in_effect"]:
                runs.append({**runs[-1]})  # never took effect: ten more runs are not worth their time
                continue
            result = run_checked(self.commands[variant], key, extra, self.options, self.program, self.warm_bytes)
            if result["output_sha256"] != self.reference["output_sha256"]:
                raise RuntimeError(f"{self.name}: the output under '{key}' differs from the plain program's")
            runs.append(result)
            self.warm_for(result)
            note(f"{self.name}: round {r + 1}: {key}: user {result['user_seconds']:.2f} "
                 f"sys {result['system_seconds']:.2f} RSS {result['peak_rss_bytes'] >> 20} MiB, "
                 f"{result['superpages']} superpages")

    def report(self):
        results = {k: summarise(v) for k, v in self.runs.items() if v}
        return {"name": self.name, "expect": self.program["expect"], "results": results, "verdict": verdict(results, WHOLE_HEAP),
                "runs": self.runs}


def arguments(program, options):
    """Returns the program's arguments for these sizes; the demonstration may have its own, so that
    it fits its time."""
    if options.programs == "demo":
        own = program.get("demo_quick_args" if options.quick else "demo_args")
        if own is not None:
            return own
    return program.get("quick" if options.quick else "args", [])


def measure_all(programs, chosen, options, work):
    """Measures all programs, round by round, so that a deadline removes rounds and no program.
    Returns the measurements, also the failed ones."""
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
    peers = options.build.resolve() / "bench" / "peers" if options.peers else None
    if peers and not options.list and subprocess.run([ROOT / "scripts" / "build-peers", peers], check=False).returncode:
        return 1
    available = configurations(options.build, peers)
    if options.list:
        for p in suite:
            print(f"{p['name']:16} {p.get('source') or 'real/' + p['real'] + '.sh':28} expected: {p['expect']}")
        for key, (label, _, extra) in available.items():
            print(f"{key:16} {label:28} {' '.join(f'{k}={v}' for k, v in extra.items())}")
        return 0
    wanted = options.configurations.split(",")
    for key in wanted:
        if key not in available:
            if key in (PEERS_CONFIGURATIONS if options.peers else DEFAULT_CONFIGURATIONS).split(","):
                note(f"bench.py: left out: {key} (its package is not installed)")
                continue
            note(f"bench.py: error: unknown configuration: {key}\nhint: bench.py --list")
            return 2
    chosen = {k: available[k] for k in wanted if k in available}
    # An installed smalloc has no lib/SmallocPlugin.so, but the wrapper, which knows where its plugin is.
    plugin_there = (options.build / "lib" / "SmallocPlugin.so").exists() or os.access(options.build / "bin" / "smalloc-cc", os.X_OK)
    if any(v[1] == "ours" for v in chosen.values()) and not plugin_there:
        note(f"bench.py: left out: our configurations (no plugin in {options.build})\nhint: cmake --build {options.build}")
        chosen = {k: v for k, v in chosen.items() if v[1] != "ours"}
    if "pass-on" in chosen:
        try:
            compile_pass_on(chosen["pass-on"][2]["LD_PRELOAD"])
        except (RuntimeError, OSError) as error:
            note(f"bench.py: error: {error}\nhint: scripts/install-packages")
            return 1
    work = (options.work or options.build / "bench").resolve()
    options.build = options.build.resolve()
    if options.record and not options.peers and options.programs != "throughput" and any("real" not in p for p in select(suite, options.programs, options.quick)):
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
    if options.record and (options.peers or options.programs != "throughput"):
        keep_others(report, options.json)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(result_rows.rows(report) + "\n")
    if options.peers:
        print("\n" + bench_peers.markdown(report))
    print("\nspeed: base pages' time over this one's (more is faster), from the total (median user + least system "
          "time); user: from user time alone;\n~ : the difference is within the spread of the runs, so it is none;\n? : fewer than three runs, "
          "which tell no spread, so no difference is claimed.")
    if options.record and subprocess.run([sys.executable, ROOT / "scripts" / "regen_docs.py"], check=False).returncode:
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
