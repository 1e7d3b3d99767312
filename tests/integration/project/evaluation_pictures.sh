# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The figures that the user's pages show say what the pages say: beyond the TLB's reach each access
# misses on base pages and none on superpages.
. "$(dirname "$0")/../support/lib.sh"
/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "no matplotlib (scripts/install-packages)"
[ -e "$PLUGIN" ] || skip "this build has no plugin"
command -v "$CLANG" >/dev/null || skip "no $CLANG"
command -v llvm-symbolizer-22 >/dev/null || skip "no llvm-symbolizer-22"

draw() { # FIGURE: measures it with small sizes
  "$SMALLOC_SOURCE/benchmarks/run" --quick --figure "$1" --build "$SMALLOC_BUILD" --output "$tmp/figures" --database "$tmp/trials.db"
}

expect_status 0 draw smalloc-reach
expect_match figures/smalloc-reach.svg '<svg'
python3 - figures/smalloc-reach.csv <<'P'
import csv, sys
rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(open(sys.argv[1]))]
for row in rows:
    # Counted pages include one of the program's own data.
    assert row["predicted_spread"] == row["rows"] == row["base_pages"] - 1, row
    assert row["superpage_misses"] < 0.01, row
    if row["rows"] < 0.9 * row["reach_pages"]:
        assert row["base_misses"] < 0.01, row
    if row["rows"] > 1.6 * row["reach_pages"]: # a TLB has up to 1.5 times the reach
        assert row["base_misses"] > 0.99 and row["predicted_misses"] == 1, row
assert any(row["rows"] > 1.6 * row["reach_pages"] for row in rows), "no matrix beyond the reach"
P

expect_status 0 draw smalloc-reuse-curve
expect_match figures/smalloc-reuse-curve.svg '<svg'
python3 - figures/smalloc-reuse-curve.csv <<'P'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
used = {row["used"]: int(row["number"]) for row in rows if row["used"]}
for pages, number in used.items():
    curve = [(int(row["entries"]), float(row["miss_ratio"])) for row in rows if row["pages"] == pages]
    ratios = [ratio for _, ratio in curve]
    assert ratios == sorted(ratios, reverse=True), f"more entries miss more: {curve}"
    assert all(ratio < 0.01 for n, ratio in curve if n >= number), f"{number} {pages} do not fit: {curve}"
    assert all(ratio > 0.01 for n, ratio in curve if n <= number / 4), f"{number} {pages} fit a quarter: {curve}"
assert used["superpages"] < used["base"] / 200, used
P

case $(thp_mode) in madvise | always) ;; *) exit 0 ;; esac
draw smalloc-heap-map >out 2>err || {
  grep -q 'Inappropriate ioctl' err && exit 0 # PAGEMAP_SCAN is of Linux 6.7
  cat out err >&2
  fail "smalloc-heap-map is not drawn"
}
expect_match figures/smalloc-heap-map.svg '<svg'
python3 - figures/smalloc-heap-map.csv <<'P'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
def units(configuration, large):
    return [row for row in rows if row["configuration"] == configuration and row["superpage"] == large]
assert not units("base", "1"), "superpages without smalloc"
assert len(units("ours-superpage", "1")) > 50, "heap:superpage has few superpages"
# Most units of the archive have 8 base pages in use.
for configuration, least in ("base", 50), ("ours", 50), ("ours-superpage", 0):
    sparse = [row for row in units(configuration, "0") if int(row["base_pages"]) == 8]
    assert len(sparse) >= least, f"{configuration}: {len(sparse)} units of the archive on base pages"
P
