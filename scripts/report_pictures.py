#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the pictures of `smalloc report` in docs/pictures/: the first screen of two reports, 1400 pixels wide.

  report.png        docs/examples/lookup.c: a trace
  report-large.png  a C++ program of 300 sites in templates: a trace, statistics, and a history of runs

It fails if a table of either page is wider than the page at 800, 1400 or 2000 pixels.

Needs a build in build/, chromium, and python3-pil. Run it after a change of the page, and look at the pictures.
With --keep FOLDER the pages stay there, to be read in a browser at other widths.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build/bin"
WIDTH, HEIGHT, MOST_BYTES = 1400, 900, 150 << 10
WIDTHS = (800, 1400, 2000)
HEADERS = {"storage_engine/detail/column_family_handle_registry.h": "std::map<std::string, std::vector<std::pair<long, std::string>>>",
           "query/planner/internal/cost_based_join_ordering.h": "std::unordered_map<std::string, std::map<int, std::vector<double>>>",
           "network/transport/buffered_frame_assembler.h": "std::vector<std::unordered_map<long, std::vector<std::string>>>",
           "analytics/time_series/rolling_window_aggregate.h": "std::map<std::pair<int, int>, std::unordered_map<std::string, long>>",
           "text/inverted_index/posting_list_builder.h": "std::vector<std::map<std::string, std::vector<long>>>",
           "graph/shortest_paths/contraction_hierarchy.h": "std::map<std::string, std::vector<std::pair<long, std::string>>>"}
SITES_A_HEADER = 50
KINDS, OBJECTS = ("shared", "pinned", "staging", "scratch", "spill"), ("page", "run", "bucket", "segment", "arena")
RANDOM = "place = place * 6364136223846793005u + 1442695040888963407u"


def method(i):
    return f"acquire_{KINDS[i % 5]}_{OBJECTS[i // 5 % 5]}_{i}"


def entries(i):
    """How many entries the array of a site has: a few sites have most of the memory."""
    return 1 << 20 if i == 7 else 1 << 18 if i % 11 == 3 else 6000 if i % 3 else 900


def write_program(folder):
    """Writes the C++ program; returns its sources."""
    sources = []
    for number, (header, value) in enumerate(HEADERS.items()):
        path = folder / header
        name = "".join(word.title() for word in path.stem.split("_"))
        space = "warehouse::" + "::".join(Path(header).parts[:-1])
        lines = ["#pragma once", *(f"#include <{h}>" for h in ("cstdint", "cstdlib", "map", "string", "unordered_map", "vector")),
                 f"namespace {space} {{", "template <class Key, class Value, class Policy> class " + name + " {", "public:"]
        for i in range(SITES_A_HEADER):
            lines += [f"  __attribute__((noinline)) std::uint64_t {method(i)}(std::size_t n, const Key &key) {{",
                      "    auto *a = static_cast<std::uint64_t *>(std::malloc(n * sizeof(std::uint64_t)));",
                      f"    for (std::size_t i = 0; i < n; i++) a[i] = i * {i + 3} + sizeof(Value);",
                      "    std::uint64_t sum = key.size(), place = n | 1;",
                      f"    for (std::size_t i = 0; i < 3 * n; i++) {{ {RANDOM}; sum += a[(place >> 33) % n]; }}",
                      f"    kept_[{i}] = a;", "    return sum;", "  }"]
        lines += [f"  ~{name}() {{ for (auto *a : kept_) std::free(a); }}", "private:",
                  f"  std::uint64_t *kept_[{SITES_A_HEADER}] = {{}};", "};", f"struct EvictLeastRecentlyUsed{number} {{}};",
                  f"using Engine = {name}<std::string, {value}, EvictLeastRecentlyUsed{number}>;", "}", ""]
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines), encoding="utf-8")
        source = folder / f"part{number}.cpp"
        source.write_text(f'#include "{header}"\nstd::uint64_t run{number}(std::size_t scale) {{\n  {space}::Engine engine;\n'
                          "  std::uint64_t sum = 0;\n"
                          + "".join(f'  sum += engine.{method(i)}(scale * {entries(i)} / 16, "key");\n' for i in range(SITES_A_HEADER))
                          + "  return sum;\n}\n", encoding="utf-8")
        sources.append(source)
    declared = "".join(f"std::uint64_t run{i}(std::size_t);\n" for i in range(len(HEADERS)))
    called = "".join(f"  sum += run{i}(scale);\n" for i in range(len(HEADERS)))
    main = folder / "main.cpp"
    main.write_text("#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n" + declared +
                    "int main(int argc, char **argv) {\n"
                    "  std::size_t scale = argc > 1 ? std::atoi(argv[1]) : 16, n = scale << 17; std::uint64_t sum = 0, place = 1;\n"
                    "  auto *a = (std::uint64_t *)std::malloc(8 * n), *b = (std::uint64_t *)std::malloc(4 * n), "
                    "*c = (std::uint64_t *)std::malloc(2 * n);\n"
                    "  for (std::size_t i = 0; i < n; i++) { a[i] = i; b[i / 2] = i; c[i / 4] = i; }\n"
                    f"  for (std::size_t i = 0; i < 4 * n; i++) {{ {RANDOM};\n"
                    "    sum += a[(place >> 33) % n] + b[(place >> 35) % (n / 2)] + c[(place >> 30) % (n / 4)]; }\n" + called +
                    '  std::printf("%llu\\n", (unsigned long long)sum);\n  std::free(a); std::free(b); std::free(c);\n}\n',
                    encoding="utf-8")
    return [main, *sources]


def run(*command, folder, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "SMALLOC_CONF"}
    environment.update(XDG_STATE_HOME=str(folder / "state"), **variables)
    result = subprocess.run([str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"report_pictures: error: cannot run {' '.join(map(str, command))}: {result.stderr}")
    return result.stdout


def small_report(folder):
    run(BIN / "smalloc-cc", "-O2", "-g1", "-fplugin-arg-smalloc-profile-generate", ROOT / "docs/examples/lookup.c", "-o", "lookup",
        folder=folder)
    run(BIN / "smalloc", "record", "-q", "-o", "lookup.trace", "--", "./lookup", "23", folder=folder)
    run(BIN / "smalloc", "report", "-q", "./lookup", "lookup.trace", "-o", "report.html", folder=folder)


def large_report(folder):
    command = ("./warehouse", "16")
    run(BIN / "smalloc-c++", "-O2", "-g1", "-std=c++17", "-fplugin-arg-smalloc-profile-generate", "-I.",
        *(source.name for source in write_program(folder)), "-o", "warehouse", folder=folder)
    run(BIN / "smalloc", "record", "-q", "-o", "warehouse.trace", "--", *command, folder=folder)
    run(BIN / "smalloc", "analyze", "-q", "warehouse.trace", "-o", "warehouse.directives", folder=folder)
    for _ in range(5):
        run(BIN / "smalloc", "apply", "-q", "--", *command, folder=folder)
        run(BIN / "smalloc", "apply", "-q", "--base", "--", *command, folder=folder)
    run(*command, folder=folder, SMALLOC_CONF="trace:off,stats:json,stats_file:stats.json")
    run(BIN / "smalloc", "db", "show", "./warehouse", "--json", "-o", "history.json", folder=folder)
    run(BIN / "smalloc", "report", "-q", "./warehouse", "warehouse.trace", "stats.json", "history.json", "-o", "report-large.html",
        folder=folder)


def chromium(folder, *options):
    return run("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/browser", *options, folder=folder)


def check_widths(folder, name):
    """Lays the page out with a script that writes into its title which parts are wider than their place."""
    script = ("<script>onload = () => { document.title = 'WIDE ' + [...document.querySelectorAll('html, .wide, figure')]"
              ".filter(e => e.scrollWidth > e.clientWidth)"
              ".map(e => e.closest('section')?.querySelector('h2').textContent + ': ' + e.scrollWidth).join(', ') + '.' }</script>")
    page = folder / f"{name}-widths.html"
    page.write_text((folder / f"{name}.html").read_text(encoding="utf-8").replace("</body>", script + "</body>"), encoding="utf-8")
    for width in WIDTHS:
        laid_out = chromium(folder, f"--window-size={width},900", "--virtual-time-budget=5000", "--dump-dom", f"file://{page}")
        wide = laid_out.partition("<title>WIDE ")[2].partition("</title>")[0]
        if wide != ".":
            sys.exit(f"report_pictures: error: at {width} pixels {name}.html is too wide: {wide or 'not laid out'}")


def take_picture(folder, name):
    from PIL import Image  # pylint: disable=import-outside-toplevel
    picture = folder / f"{name}.png"
    chromium(folder, "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", f"file://{folder}/{name}.html")
    to = ROOT / "docs/pictures" / f"{name}.png"
    Image.open(picture).convert("RGB").quantize(255).save(to, optimize=True)
    if to.stat().st_size > MOST_BYTES:
        sys.exit(f"report_pictures: error: {to} has {to.stat().st_size} bytes, more than {MOST_BYTES}")
    print(to.relative_to(ROOT))


def main():
    parser = argparse.ArgumentParser(prog="scripts/report_pictures.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the pages in this new folder")
    options = parser.parse_args()
    folder = options.keep.resolve() if options.keep else Path(tempfile.mkdtemp(prefix="report-pictures."))
    folder.mkdir(parents=True, exist_ok=not options.keep)
    try:
        small_report(folder)
        large_report(folder)
        for name in ("report", "report-large"):
            check_widths(folder, name)
            take_picture(folder, name)
    finally:
        if not options.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
