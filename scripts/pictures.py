#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of the documentation as SVG, without further libraries.

  docs/pictures/speed-memory.svg   speed and peak memory of the allocators, from benchmarks/results/peers.json
  docs/pictures/how-it-works.svg   from the source to the pages

scripts/regen_docs.py writes both, and with --check compares them with what is there.

  pictures.py RESULTS.json PICTURE.svg    the first picture of other results of bench.py, and the same as a table
"""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import bench_peers  # noqa: E402
import bench_table  # noqa: E402
from bench_runs import machine_in_words  # noqa: E402

FONT = 'font-family="sans-serif"'
# Okabe and Ito's colours, which the colour-blind can tell apart.
GREY, BLUE, ORANGE, GREEN, RED, PURPLE = "#666666", "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"
COLOURS = {"base": GREY, "jemalloc": PURPLE, "jemalloc-thp": ORANGE, "mimalloc": PURPLE, "ours": BLUE, "preload": GREEN}


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text(x, y, words, size=13, anchor="start", weight="normal", fill="#222222"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" {FONT} font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{fill}">{escaped(words)}</text>')


def drawing(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">', f"<title>{escaped(title)}</title>",
                      f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>", ""])


def ticks(low, high, step):
    first = round(low / step)
    return [k * step for k in range(first, round(high / step) + 1) if low - 1e-9 <= k * step <= high + 1e-9]


def speed_memory(report):
    """One point an allocator: the geometric means over the programs of CPU speed and of peak memory, glibc being 1."""
    means = bench_peers.means(report["programs"], report["configurations"])
    width, height, left, right, top, bottom = 760, 400, 70, 30, 60, 70
    xs, ys = [m["memory"] for m in means.values()], [m["cpu"] for m in means.values()]
    x_low, x_high = min(xs) - 0.02, max(xs) + 0.045
    y_low, y_high = min(0.95, min(ys) - 0.05), max(ys) + 0.08

    def place(memory, speed):
        return (left + (memory - x_low) / (x_high - x_low) * (width - left - right),
                height - bottom - (speed - y_low) / (y_high - y_low) * (height - top - bottom))

    programs = max(m["programs"] for m in means.values())
    parts = [text(left, 28, f"Speed and peak memory, means of {programs} programs", 15,
                  weight="bold"), text(left, 48, "up: faster; left: less memory", 13, fill=GREY)]
    for value in ticks(x_low, x_high, 0.02):
        x, _ = place(value, y_low)
        parts += [f'<line x1="{x:.0f}" y1="{top}" x2="{x:.0f}" y2="{height - bottom}" stroke="#eeeeee"/>',
                  text(x, height - bottom + 18, f"{value:.2f}", 12, "middle")]
    for value in ticks(y_low, y_high, 0.1):
        _, y = place(x_low, value)
        parts += [f'<line x1="{left}" y1="{y:.0f}" x2="{width - right}" y2="{y:.0f}" stroke="#eeeeee"/>',
                  text(left - 8, y + 4, f"{value:.1f}", 12, "end")]
    parts.append(text(width / 2, height - 32, "peak memory, glibc = 1", 13, "middle"))
    parts.append(f'<text x="20" y="{height / 2:.0f}" {FONT} font-size="13" text-anchor="middle" fill="#222222" '
                 f'transform="rotate(-90 20 {height / 2:.0f})">speed (CPU time), glibc = 1</text>')
    host = report["machine"]
    parts.append(text(left, height - 10, f"{machine_in_words(host)}, "
                      f"Linux {host['kernel'].split('-')[0]}, transparent huge pages: {host['thp']}", 11, fill=GREY))
    places = {key: place(mean["memory"], mean["cpu"]) for key, mean in means.items()}
    for key, mean in means.items():
        x, y = places[key]
        # Beside the point, or below it where another point is close on the right.
        close = any(0 < a - x < 250 and -30 < b - y <= 0 for a, b in places.values())
        label_x, label_y = (x - 6, y + 20) if close else (x + 12, y - 2)
        colour = COLOURS.get(key, PURPLE)
        bold = "bold" if key in ("ours", "preload") else "normal"
        label = {"ours": "smalloc with the plugin", "preload": "smalloc run, not recompiled"}.get(
            key, report["configurations"][key])
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{colour}"/>',
                  text(label_x, label_y, label, 13, weight=bold, fill=colour),
                  text(label_x, label_y + 15, f"{mean['cpu']:.2f}x at {mean['memory']:.2f}x memory", 11, fill=GREY)]
    return drawing(width, height, "Speed against peak memory of allocators", parts)


def box(x, y, width, height, colour, title, lines):
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="white" stroke="{colour}" stroke-width="2"/>',
             text(x + width / 2, y + 22, title, 14, "middle", "bold", colour)]
    return parts + [text(x + width / 2, y + 42 + 17 * i, line, 12, "middle") for i, line in enumerate(lines)]


def arrow(x1, y1, x2, y2, words="", above=True):
    label = [text((x1 + x2) / 2, min(y1, y2) - 7 if above else max(y1, y2) + 16, words, 11, "middle", fill=GREY)] if words else []
    return [f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GREY}" stroke-width="2" marker-end="url(#tip)"/>'] + label


def how_it_works():
    parts = [f'<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
             f'<path d="M0 0L10 5L0 10z" fill="{GREY}"/></marker></defs>']
    parts += box(10, 20, 200, 112, ORANGE, "Clang plugin", ["finds calls of malloc and new", "follows pointers into loops",
                                                            "predicts TLB misses", "proves: object is filled"])
    parts += box(290, 20, 190, 112, GREY, "program", ["object code", "+ a table of allocation", "sites: decision, reason,", "estimated saving"])
    parts += box(560, 20, 190, 112, BLUE, "libsmalloc.so", ["serves malloc", "reads the table", "watches how objects fill", "picks the page size"])
    parts += arrow(212, 76, 288, 76, "compiles")
    parts += arrow(482, 76, 558, 76, "malloc")
    parts += arrow(655, 134, 655, 196)
    parts.append(text(470, 190, "madvise: 2 MiB or 4 KiB pages", 11, fill=GREY))
    cell = 12
    parts.append(text(10, 185, "memory", 14, weight="bold"))
    # A filled object on a superpage, a sparse one on base pages, small objects packed into a unit.
    for x, fill, words, full in ((10, BLUE, "filled object: one 2 MiB page, 1 TLB entry, 1 page fault", 16),
                                 (270, ORANGE, "sparse object: 4 KiB pages, only those in use", 5),
                                 (530, GREEN, "small objects: packed into 2 MiB pages", 16)):
        y = 200
        for i in range(16):
            used = i < full if full == 16 else i in (0, 3, 7, 8, 13)
            grid = "none" if full == 16 and fill == BLUE else "#ffffff"
            parts.append(f'<rect x="{x + i * cell}" y="{y}" width="{cell}" height="24" fill="{fill if used else "#eeeeee"}" stroke="{grid}"/>')
        parts.append(f'<rect x="{x}" y="{y}" width="{16 * cell}" height="24" fill="none" stroke="#222222" '
                     f'stroke-width="{2 if full == 16 else 1}"/>')
        head, _, tail = words.partition(": ")
        parts += [text(x, y + 42, head, 12, weight="bold"), text(x, y + 58, tail, 11)]
    return drawing(760, 275, "How smalloc works", parts)


def short_table(report):
    """A row a program, a column an allocator: speed against base pages, and peak memory."""
    names = {key: name for key, name in report["configurations"].items() if key != "base"}
    rows = [["", report["configurations"]["base"], *names.values()]]
    for program in report["programs"]:
        base = program["results"]["base"]
        row = [program["name"], f"{base['total_seconds']:.2f} s, {base['peak_rss_bytes'] >> 20} MiB"]
        for key in names:
            result = program["results"][key]
            ratio, clear = bench_table.compare(base, result, "total")
            row.append(f"{f'{ratio:.2f}x' if clear else 'same'}, {result['peak_rss_bytes'] >> 20} MiB")
        rows.append(row)
    means = bench_peers.means(report["programs"], report["configurations"])
    rows.append([f"mean of {len(report['programs'])}", "1.00x, 1.00x"]
                + [f"{means[key]['cpu']:.2f}x, {means[key]['memory']:.2f}x" if key in means else "-" for key in names])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main():
    if len(sys.argv) != 3:
        print("usage: pictures.py RESULTS.json PICTURE.svg", file=sys.stderr)
        return 2
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(speed_memory(report), encoding="utf-8")
    print(f"{short_table(report)}\n\nSpeed (CPU time) against glibc on base pages, and peak memory; \"same\": the difference is within the "
          f"spread of the runs.\nThe means as a picture: {sys.argv[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
