# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Change of run time when one allocation site is on superpages."""
import statistics

from evaluation import mappings, marks, rounds

NAME = "cascaval-fig4"
SECTION = "Cascaval et al. 2005"
TITLE = "Run time with each mapping"
SOURCE = "Cascaval et al. 2005, figure 4 (change of execution time with each mapping)"
CAPTION = ("CPU time against the same program with the same heaps on base pages; each bar is one mapping: one allocation site on superpages, "
           "or all of them. The source's mappings are three size classes of data; these are sites. Bars are medians of the rounds, lines the "
           "range of the rounds. A pale bar is a difference within their spread, so it is none.")
SIZE = (8.4, 4.2)


def trials(mode):
    yield from mappings.trials(3 if mode == "quick" else 5)


def rows(results, mode):  # pylint: disable=unused-argument
    found = []
    for name in mappings.PROGRAMS:
        ways = ["base", *(site["name"] for site in results[f"sites/{name}"]["sites"]), "all"]
        base = rounds.values_of(results, f"mappings/{name}", lambda numbers: marks.cpu(numbers["base"]))
        for way in ways[1:]:
            own = rounds.values_of(results, f"mappings/{name}", lambda numbers, way=way: marks.cpu(numbers[way]))
            ratio, words = rounds.compare(base, own)
            changes = [100 * (o / b - 1) for o, b in zip(own, base)]
            most = max(results[f"mappings/{name}/round-{number}"][way]["superpages"] for number in range(1, len(own) + 1))
            found.append({"program": name, "mapping": way, "rounds": len(own), "base_seconds": statistics.median(base),
                          "seconds": statistics.median(own), "change_percent": 100 * (statistics.median(own) / statistics.median(base) - 1),
                          "low_percent": min(changes), "high_percent": max(changes), "superpages": most,
                          "verdict": "within the spread" if ratio is None else words})
    return found


def draw(drawing, table):
    axes = drawing.add_subplot()
    names, place, ticks, labels = list(dict.fromkeys(row["program"] for row in table)), 0, [], []
    for name in names:
        own = [row for row in table if row["program"] == name]
        axes.text(place + (len(own) - 1) / 2, 1.02, name, transform=axes.get_xaxis_transform(), ha="center", fontweight="bold")
        for row in own:
            colour = marks.BLUE if row["mapping"] == "all" else marks.ORANGE
            axes.bar(place, row["change_percent"], 0.8, color=colour, alpha=0.3 if row["verdict"] == "within the spread" else 1)
            axes.plot([place, place], [row["low_percent"], row["high_percent"]], color="#222222", linewidth=1)
            ticks.append(place)
            labels.append("all sites" if row["mapping"] == "all" else row["mapping"])
            place += 1
        place += 1
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.set_xticks(ticks, labels, rotation=55, ha="right", fontsize=8)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("change of CPU time, %")


def says(table):
    clear = [row for row in table if row["verdict"] != "within the spread"]
    best = min(clear, key=lambda row: row["change_percent"], default=None)
    slower = [f"{row['program']} with {row['mapping']} ({row['change_percent']:+.0f} %)" for row in clear if row["change_percent"] > 0]
    words = [f"{len(clear)} of {len(table)} mappings differ from base pages by more than the spread of the rounds."]
    if best and best["change_percent"] < 0:
        words.append(f"The largest gain is {best['program']}'s with {'all sites' if best['mapping'] == 'all' else best['mapping']}: "
                     f"{best['change_percent']:.0f} %; the source's was 59 % (swim).")
    return words + ([f"Superpages are slower for {', '.join(slower)}."] if slower else [])
