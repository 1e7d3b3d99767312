# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""publish.py writes each figure as SVG and CSV, and the index page of docs/evaluation."""

import csv
import io
import re
import sys
import textwrap

import figures

INTRODUCTION = """<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->
# The sources' tables and figures on today's machine

`benchmarks/run` makes every picture of this page, and the numbers beside it (CSV). Each belongs to a
table or figure of a source, or is one of smalloc's own. A difference within the spread of the rounds
is not reported as one. [Rankings](../evidence/evaluation.md) has the tables behind some of them.
"""


def caption(figure, keys, results, mode):
    """What the figure declares, and what its trials ran on."""
    of = [results.of_key[key] for key in keys]

    def several(values):
        return ", ".join(sorted(set(values)))

    words = [figure.CAPTION]
    if of:
        host = [
            f"{o['machine']['cpus']} CPUs of a "
            f"{o['machine']['cpu']}{' (virtual machine)' if o['machine']['hypervisor'] else ''}, "
            f"Linux {o['machine']['kernel'].split('-')[0]}, transparent huge pages: {o['machine']['thp']}"
            for o in of
        ]
        words.append(
            f"Mode {mode}; {several(host)}; {several(o['versions']['smalloc'].split(' (')[0] for o in of)}; "
            f"commit {several(o['commit'] for o in of)}, {several(o['date'] for o in of)}."
        )
    return " ".join(words)


def as_csv(rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {column: f"{value:.6g}" if isinstance(value, float) else value for column, value in row.items()}
        )
    return text.getvalue()


def picture(figure, rows, path):
    import matplotlib  # pylint: disable=import-outside-toplevel

    matplotlib.use("svg")
    # Text stays text, and the same numbers give the same file.
    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "smalloc",
            "font.family": "sans-serif",
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e6e6e6",
            "axes.axisbelow": True,
            "legend.frameon": False,
            "legend.fontsize": 9,
        }
    )
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    drawing = pyplot.figure(figsize=getattr(figure, "SIZE", (7.6, 4.0)), layout="constrained")
    figure.draw(drawing, rows)
    drawing.savefig(path, metadata={"Date": None, "Title": figure.TITLE})
    pyplot.close(drawing)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"[ \t]+$", "", text, flags=re.M), encoding="utf-8")


def section(figure, rows, words):
    """The figure's part of the index page."""
    words, says = (
        t.replace(" %", "\u00a0%") for t in (words, " ".join(figure.says(rows)))
    )  # no line begins with the sign
    text = [
        f"### {figure.TITLE}",
        f"Source: {figure.SOURCE}.",
        f"![{figure.TITLE}]({figure.NAME}.svg)",
        says,
        words,
        f"Numbers: [{figure.NAME}.csv]({figure.NAME}.csv).",
    ]
    wrapped = "\n\n".join(
        t if t.startswith("!") else textwrap.fill(t, 100, break_long_words=False, break_on_hyphens=False) for t in text
    )
    return f"<!-- {figure.NAME}:begin -->\n{wrapped}\n<!-- {figure.NAME}:end -->"


def index(folder, sections):
    """Writes the index page. The introduction, and the sections of figures that were not drawn now,
    stay as they are."""
    page = folder / "README.md"
    before = page.read_text(encoding="utf-8") if page.exists() else INTRODUCTION
    kept = {m[1]: m[0] for m in re.finditer(r"<!-- ([\w-]+):begin -->\n.*?<!-- \1:end -->", before, re.S)}
    kept.update(sections)
    parts = [re.split(r"^## |^<!-- [\w-]+:begin -->", before, maxsplit=1, flags=re.M)[0].rstrip()]
    for title in figures.SECTIONS:
        own = [kept[f.NAME] for f in figures.select(None) if f.SECTION == title and f.NAME in kept]
        parts += [f"## {title}", *own] if own else []
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def publish(chosen, results, mode, folders):
    """Draws the figures whose trials are all there; returns whether those were all."""
    sections, all_there = {}, True
    for figure in chosen:
        keys = [key for key, _ in figure.trials(mode)]
        there = [key for key in keys if key in results]
        if len(there) < len(keys):
            print(
                f"{figure.NAME}: not drawn: {len(keys) - len(there)} of {len(keys)} trials are missing", file=sys.stderr
            )
            all_there = False
            continue
        rows = figure.rows(results, mode)
        words = caption(figure, keys, results, mode)
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            picture(figure, rows, folder / f"{figure.NAME}.svg")
            (folder / f"{figure.NAME}.csv").write_text(as_csv(rows), encoding="utf-8")
        sections[figure.NAME] = section(figure, rows, words)
        print(f"{figure.NAME}: {folders[-1] / figure.NAME}.svg")
    for folder in folders:
        index(folder, sections)
    return all_there
