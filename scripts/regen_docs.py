#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""regen_docs.py writes the measured tables of the documentation: the lines between `<!-- NAME:begin
-->` and `<!-- NAME:end -->` come from files of results, which only real runs write.

  first-look        README.md                      benchmarks/results/first-look.json        scripts/first_look.py --record
  setup             README.md                      benchmarks/results/setup.json             scripts/setup_cost.py --root DIR ... --record
  setup-against     docs/evidence/setup.md         benchmarks/results/setup.json             the same with --against COMMIT
  first-try         docs/decide.md                 benchmarks/results/first-look.json        scripts/first_look.py --record --only try
  speed-memory      README.md                      benchmarks/results/peers.json             scripts/bench.py -p peers --record
  programs          docs/evidence/programs.md      benchmarks/results/programs.json          scripts/bench.py -p real --record
  peers             docs/evidence/programs.md      benchmarks/results/peers.json             scripts/bench.py -p peers --record
  throughput        docs/evidence/throughput.md    benchmarks/results/throughput.json        scripts/bench.py -p throughput --record
  throughput-intel  docs/evidence/throughput.md    benchmarks/results/throughput-intel.json  the same on another machine, with --json
  oracle            docs/internals/spread.md       benchmarks/results/oracle.json            tests/oracle/oracle.py --record
  profile           docs/evidence/recording.md     benchmarks/results/profile.json           scripts/profile_cost.py --record
  engines           docs/evidence/recording.md     benchmarks/results/reuse-speed.json       build/benchmarks/reuse_speed
  compile-cost      docs/evidence/compile-cost.md  benchmarks/results/compile-cost.json      scripts/compile-cost --record
  numa-balancing    docs/evidence/numa.md          benchmarks/results/numa-balancing.json    scripts/numa-balancing --record
  numa-study        docs/evidence/numa.md          benchmarks/results/numa-study.json        scripts/numa-study --record
  robustness        docs/evidence/robustness.md    benchmarks/results/robustness.json        scripts/robustness --record
  readers           docs/evidence/robustness.md    benchmarks/results/robust-readers.json    scripts/robustness --mutations 20000 --record
  packages          docs/evidence/robustness.md    benchmarks/results/robust-packages.json   scripts/robust-packages --record
  coverage          docs/evidence/coverage.md      benchmarks/results/coverage.json          scripts/coverage --record
  evaluation        docs/evidence/evaluation.md    benchmarks/results/evaluation.json        scripts/evaluate.py --record
  selective         docs/evidence/evaluation.md    benchmarks/results/selective.json         scripts/selective.py --record
  chosen-times      docs/evidence/evaluation.md    benchmarks/results/chosen-times.json      scripts/chosen_times.py --record

Further docs/pictures/*.svg (scripts/pictures.py): speed-memory.svg from peers.json, how-it-works.svg from nothing.

  regen_docs.py            rewrite the tables
  regen_docs.py --check    exit 1 when a page says something else than the results
"""
import argparse
import importlib.machinery
import importlib.util
import json
import statistics
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import bench_peers  # noqa: E402
import first_look as first_look_commands  # noqa: E402
import pictures  # noqa: E402
import setup_cost  # noqa: E402
from bench_runs import machine_in_words  # noqa: E402


def ratio(base, result, kind):
    """'1.12x', or 'same' when the difference is below the spread of the runs."""
    value = base[f"{kind}_seconds"] / result[f"{kind}_seconds"]
    clear = min(base["runs"], result["runs"]) >= 3 and abs(value - 1) > max(base[f"{kind}_spread"], result[f"{kind}_spread"], 0.005)
    return f"{value:.2f}x" if clear else "same"


def cell(base, result):
    """'1.12x (user 1.20x), 964 MiB'."""
    speed = f"{ratio(base, result, 'total')} (user {ratio(base, result, 'user')})"
    note = "" if result["in_effect"] else " (no superpage got)"
    return f"{speed}, {result['peak_rss_bytes'] / 2**20:.0f} MiB{note}"


def table(report, maker):
    names = report["configurations"]
    lines = ["| program | " + " | ".join(names.values()) + " |", "|" + "---|" * (len(names) + 1)]
    fewest = None
    for program in report["programs"]:
        results = program["results"]
        base = results["base"]
        fewest = min(r["runs"] for r in results.values()) if fewest is None else min(
            fewest, *(r["runs"] for r in results.values()))
        cells = []
        for key in names:
            if key not in results:
                cells.append("-")
            elif key == "base":
                cells.append(f"{base['total_seconds']:.2f} s, {base['peak_rss_bytes'] / 2**20:.0f} MiB")
            else:
                cells.append(cell(base, results[key]))
        lines.append(f"| {program['name']} | " + " | ".join(cells) + " |")
    host = report["machine"]
    lines += ["", f"Speed against base pages and peak memory, on memory that the machine has at hand (docs/evidence/defaults.md has it otherwise); median user + least system time of at least {fewest} "
              f"interleaved runs (in brackets: user time alone, where the walks show); \"same\": the difference is below "
              f"the spread. {machine_in_words(host)}, Linux {host['kernel']}. "
              f"Made by `{maker}`."]
    return "\n".join(lines)


def programs(report):
    return table(report, SECTIONS["programs"][3])


def paired(program, key, other):
    """'0.98 ± 0.03': the time of `other` over that of `key`, round by round: the median and half of the middle half's width."""
    times = [[r["user_seconds"] + r["system_seconds"] for r in program["runs"][k]] for k in (key, other)]
    ratios = [b / a for a, b in zip(*times) if a]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.2f} ± {(high - low) / 2:.2f}"


def throughput(report):
    """Returns each allocator's speed as a share of glibc's; where smalloc's heaps serve, also as a
    share of jemalloc's."""
    names = {k: v for k, v in report["configurations"].items() if k != "base"}
    served = [k for k in ("ours-superpage", "preload-superpage") if k in names and "jemalloc" in names]
    head = ["program", "glibc"] + list(names.values()) + [f"{names[k]} / jemalloc" for k in served]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for program in report["programs"]:
        cells = [program["name"].removeprefix("throughput-"), f"{program['results']['base']['sum_seconds_median']:.2f} s"]
        cells += [paired(program, k, "base") for k in names] + [paired(program, k, "jemalloc") for k in served]
        lines.append(f"| {' | '.join(cells)} |")
    host = report["machine"]
    rounds = min(len(runs) for program in report["programs"] for runs in program["runs"].values())
    lines += ["", f"Speed (more is faster): user + system time of glibc, or of jemalloc, over that of the column, in each of {rounds} rounds; median ± half "
              f"of the middle half's width. {machine_in_words(host)}, "
              f"Linux {host['kernel']}. Made by `{THROUGHPUT}`."]
    return "\n".join(lines)


def oracle(report):
    sys.path.insert(0, str(ROOT / "tests" / "oracle"))
    import oracle as program

    return program.page(report)


def profile(report):
    import profile_cost as program

    return program.page(report)


def evaluation(report):
    import evaluate as program

    return program.page(report)


def selective(report):
    import selective as program

    return program.page(report)


def chosen_times(report):
    import chosen_times as program

    return program.page(report)


def engines(report):
    pages = sorted({row["pages"] for row in report["results"]})
    count = {10000: "10 K", 200000: "200 K", 2000000: "2 M"}
    lines = ["| engine | " + " | ".join(f"{count.get(n, n)} pages | error | memory" for n in pages) + " |",
             "|" + "---|" * (1 + 3 * len(pages))]
    for name in dict.fromkeys(row["engine"] for row in report["results"]):
        rows = [next(r for r in report["results"] if (r["engine"], r["pages"]) == (name, n)) for n in pages]
        lines.append(f"| {name} | " + " | ".join(
            f"{r['million_accesses_per_second']:.1f} M/s | {r['mean_miss_ratio_error']:.4f} | {r['memory_bytes'] / 2**20:.1f} MiB"
            for r in rows) + " |")
    lines += ["", f"{report['accesses'] / 1e6:g} million accesses, Zipf 0.8, one thread; error: mean difference in the miss ratio from the "
              "exact one. Made by `build/benchmarks/reuse_speed >benchmarks/results/reuse-speed.json`."]
    return "\n".join(lines)


def compile_cost(report):
    lines = ["| unit | instructions | with the plugin | | memory | with the plugin | |", "|---|---|---|---|---|---|---|"]
    for unit in report["units"]:
        lines.append(f"| {unit['name']} | {unit['plain_instructions'] / 1e6:.0f} M | {unit['plugin_instructions'] / 1e6:.0f} M | "
                     f"{100 * (unit['plugin_instructions'] / unit['plain_instructions'] - 1):+.1f} % | "
                     f"{unit['plain_kib'] / 1024:.0f} MiB | {unit['plugin_kib'] / 1024:.0f} MiB | "
                     f"{100 * (unit['plugin_kib'] / unit['plain_kib'] - 1):+.1f} % |")
    total = report["total"]
    lines += ["", f"All units: instructions {100 * total['instructions']:+.1f} %, worst unit {100 * total['worst_instructions']:+.1f} %; "
              f"peak memory {100 * total['memory']:+.1f} %. Options {report['options']}; counted by {report['counter']}. "
              "Made by `scripts/compile-cost --record`."]
    return "\n".join(lines)


def robustness(report):
    lines = ["| what | programs | compilations | differences | crashes | unstable remarks |", "|---|---|---|---|---|---|"]
    for row in report["rows"]:
        lines.append(f"| {row['what']} | {row['programs']} | {row['compilations']} | {row['differences']} | {row['crashes']} | "
                     f"{row['unstable']} |")
    lines += ["", f"Seeds from {report['seed']} on; skipped because plain clang, or its program, did not end in time: "
              f"{report['skipped']}. Made by `scripts/robustness --record`."]
    return "\n".join(lines)


def readers(report):
    lines = ["| target | mutations | failed | slowest input | peak memory |", "|---|---|---|---|---|"]
    for row in report["rows"]:
        slowest = f"{row['slowest_seconds']} s" if row["slowest_seconds"] else "below 1 s"
        lines.append(f"| {row['reader']} | {row['mutations']} | {row['failed']} | {slowest} | {row['peak_mib']} MiB |")
    lines += ["", "Made by `scripts/robustness --mutations 20000 --record`."]
    return "\n".join(lines)


def packages(report):
    lines = ["| package | lines | compiled with | its own tests | as without the plugin |", "|---|---|---|---|---|"]
    for row in report["rows"]:
        tests = f"{row['tests']}, {row['failed']} failed" if row["built"] else "not built"
        lines.append(f"| {row['package']} | {row['lines']} | `{row['way']}` | {tests} | {'yes' if row['same'] else '**no**'} |")
    lines += ["", "Made by `scripts/robust-packages --record`."]
    return "\n".join(lines)


def script(name):
    """Loads a script whose file name has no ending."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def coverage(report):
    return script("coverage").page(report)


def numa_balancing(report):
    return script("numa-balancing").page(report)


def numa_study(report):
    return script("numa-study").page(report)


THROUGHPUT = "scripts/bench.py -p throughput -n 7 -c base,jemalloc,mimalloc,tcmalloc,pass-on,ours,preload,ours-superpage,preload-superpage"

def peers(report):
    """Returns the limits and means of bench_peers.py, and the machine."""
    m, runs = report["machine"], [s["runs"] for p in report["programs"] for s in p["results"].values()]
    return (f"{bench_peers.markdown(report)}\n\n{machine_in_words(m)}, "
            f"Linux {m['kernel']}, transparent huge pages: {m['thp']}; {min(runs)} to {max(runs)} rounds. Made by "
            "`scripts/bench.py -p peers --record`.")




def first_look(report):
    return first_look_commands.page(report, ("remarks", "sites"))


def first_try(report):
    return first_look_commands.page(report, ("try",))


def setup(report):
    """The cost of the two set-up commands."""
    return textwrap.fill(setup_cost.page(report), 100, break_long_words=False, break_on_hyphens=False)


def setup_against(report):
    """The cost of the demo beside that of an earlier commit."""
    return setup_cost.comparison(report)


def speed_memory(report):
    """The picture's figures in words, for those who see no pictures."""
    means = bench_peers.means(report["programs"], report["configurations"])
    points = [f"{report['configurations'][key]} {m['cpu']:.2f}x at {m['memory']:.2f}x memory"
              for key, m in means.items() if key != "base"]
    m, runs = report["machine"], [s["runs"] for p in report["programs"] for s in p["results"].values()]
    words = (f"CPU speed and peak memory against glibc on base pages, geometric means of {len(report['programs'])} programs, "
             f"{min(runs)} interleaved rounds: {'; '.join(points)}. {machine_in_words(m)}. "
             f"Program by program: [docs/evidence/programs.md](docs/evidence/programs.md).")
    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)


def picture_files():
    """file -> the SVG that belongs there."""
    peers_report = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text(encoding="utf-8"))
    folder = ROOT / "docs" / "pictures"
    return {folder / "speed-memory.svg": pictures.speed_memory(peers_report),
            folder / "how-it-works.svg": pictures.how_it_works()}


def redraw(check):
    """Writes the pictures; with check only compares. Returns 1 if one differs."""
    for file, svg in picture_files().items():
        if file.exists() and file.read_text(encoding="utf-8") == svg:
            continue
        if check:
            print(f"regen_docs.py: error: {file}: differs from its results\nhint: scripts/regen_docs.py", file=sys.stderr)
            return 1
        file.parent.mkdir(exist_ok=True)
        file.write_text(svg, encoding="utf-8")
    return 0


# name: page, results, function from results to text, command that writes the results
SECTIONS = {
    "first-look": ("README.md", "first-look.json", first_look, "scripts/first_look.py --record"),
    "setup": ("README.md", "setup.json", setup, "scripts/setup_cost.py --root DIR packages --record"),
    "setup-against": ("docs/evidence/setup.md", "setup.json", setup_against,
                      "scripts/setup_cost.py --root DIR packages --against COMMIT --record"),
    "first-try": ("docs/decide.md", "first-look.json", first_try, "scripts/first_look.py --record --only try"),
    "speed-memory": ("README.md", "peers.json", speed_memory, "scripts/bench.py -p peers --record"),
    "programs": ("docs/evidence/programs.md", "programs.json", programs, "scripts/bench.py -p real --record"),
    "peers": ("docs/evidence/programs.md", "peers.json", peers, "scripts/bench.py -p peers --record"),
    "throughput": ("docs/evidence/throughput.md", "throughput.json", throughput, f"{THROUGHPUT} --record"),
    "throughput-intel": ("docs/evidence/throughput.md", "throughput-intel.json", throughput,
                         f"{THROUGHPUT} --json benchmarks/results/throughput-intel.json"),
    "oracle": ("docs/internals/spread.md", "oracle.json", oracle, "tests/oracle/oracle.py --record"),
    "profile": ("docs/evidence/recording.md", "profile.json", profile, "scripts/profile_cost.py --record"),
    "engines": ("docs/evidence/recording.md", "reuse-speed.json", engines,
                "build/benchmarks/reuse_speed >benchmarks/results/reuse-speed.json"),
    "compile-cost": ("docs/evidence/compile-cost.md", "compile-cost.json", compile_cost, "scripts/compile-cost --record"),
    "packages": ("docs/evidence/robustness.md", "robust-packages.json", packages, "scripts/robust-packages --record"),
    "coverage": ("docs/evidence/coverage.md", "coverage.json", coverage, "scripts/coverage --record"),
    "numa-study": ("docs/evidence/numa.md", "numa-study.json", numa_study, "scripts/numa-study --record"),
    "numa-balancing": ("docs/evidence/numa.md", "numa-balancing.json", numa_balancing, "scripts/numa-balancing --record"),
    "readers": ("docs/evidence/robustness.md", "robust-readers.json", readers, "scripts/robustness --mutations 20000 --record"),
    "robustness": ("docs/evidence/robustness.md", "robustness.json", robustness, "scripts/robustness --record"),
    "selective": ("docs/evidence/evaluation.md", "selective.json", selective, "scripts/selective.py --record"),
    "chosen-times": ("docs/evidence/evaluation.md", "chosen-times.json", chosen_times, "scripts/chosen_times.py --record"),
    "evaluation": ("docs/evidence/evaluation.md", "evaluation.json", evaluation, "scripts/evaluate.py --record"),
}


def regenerate(name, page, results, check):
    _, _, text, hint = SECTIONS[name]
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if not results.exists() and f"{begin}\n{end}" in page.read_text(encoding="utf-8"):
        return 0  # never recorded, and the page has no table
    try:
        report = json.loads(results.read_text(encoding="utf-8"))
        old = page.read_text(encoding="utf-8")
    except OSError as error:
        print(f"regen_docs.py: error: {error}\nhint: {hint}", file=sys.stderr)
        return 1
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        print(f"regen_docs.py: error: {page}: needs {begin} and {end} once each", file=sys.stderr)
        return 1
    before, rest = old.split(begin)
    new = f"{before}{begin}\n{text(report)}\n{end}{rest.split(end)[1]}"
    if new == old:
        return 0
    if check:
        print(f"regen_docs.py: error: {page}: the measured table differs from {results}\nhint: scripts/regen_docs.py",
              file=sys.stderr)
        return 1
    page.write_text(new, encoding="utf-8")
    return 0


def write_man_pages(smalloc):
    """Writes docs/man/smalloc.1 and a page for each verb from the command's own help."""
    def output(option):
        return subprocess.run([smalloc, option], capture_output=True, text=True, check=True).stdout
    folder = ROOT / "docs" / "man"
    (folder / "smalloc.1").write_text(output("--man"), encoding="utf-8")
    for verb in re.findall(r"^  ([a-z]+)  ", output("--help"), re.M):
        (folder / f"smalloc-{verb}.1").write_text(output(f"--man={verb}"), encoding="utf-8")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--section", choices=SECTIONS, help="only this section, of --page and from --results")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--man", nargs="?", const=ROOT / "build" / "bin" / "smalloc", type=Path, metavar="SMALLOC",
                        help="write only the man pages, by this command (default: build/bin/smalloc)")
    options = parser.parse_args()
    if options.man:
        return write_man_pages(options.man)
    if options.section:
        page, results, _, _ = SECTIONS[options.section]
        return regenerate(options.section, options.page or ROOT / page,
                          options.results or ROOT / "benchmarks" / "results" / results, options.check)
    return max(redraw(options.check), *(regenerate(name, ROOT / page, ROOT / "benchmarks" / "results" / results, options.check)
               for name, (page, results, _, _) in SECTIONS.items()))


if __name__ == "__main__":
    sys.exit(main())
