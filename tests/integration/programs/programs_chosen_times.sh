#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# scripts/chosen_times.py records a program, chooses for it and runs it in all five ways. The
# prediction is the time of the same heaps on base pages, less the saving by the median of the
# calibrations around it. A loss counts only beyond the spread of the rounds. The test compares no
# times. At its end, scripts/steady_memory.py restores everything it has changed, however it ends.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
times=("$SMALLOC_SOURCE/scripts/chosen_times.py" --build "$SMALLOC_BUILD" --clang "$CLANG")
expect_status 0 python3 "${times[@]}" --machine zen3 --quick -p gups -p bodies --json r.json
expect_match out '^\| gups \|.*\| main:[0-9]+ \|$'
expect_match out '^\| bodies \|.*\| - \|$'
json_is r.json 'd["schema"] == "smalloc.chosen-times/9" and [p["name"] for p in d["programs"]] == ["gups", "bodies"]'
# User time may be zero: the kernel assigns a short run's ticks to one of the two.
json_is r.json 'all(p[way]["user_seconds"][0] + p[way]["system_seconds"][0] > 0 and p[way]["peak_rss_bytes"] > 0 for p in d["programs"] for way in ("base", "all", "profile", "unbacked", "off"))'
json_is r.json 'd["programs"][0]["saved_seconds_by"][0] > 0 == d["programs"][1]["saved_seconds_by"][0]'
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "error, loss"
import sys
sys.path.insert(0, sys.argv[1])
import chosen_times as c
def way(*sums):
    return {"user_seconds": [s - 1 for s in sums], "system_seconds": [1 for _ in sums]}
def near(a, b):
    return abs(a - b) < 1e-9
def result(saved_by, share=None, **ways):
    return {"saved_seconds_by": saved_by, "promised_seconds": 0.5, "realised_share": share, **{name: way(*sums) for name, sums in ways.items()}}
assert c.sums(result([0], profile=(3, 4)), "profile") == [3, 4]
assert c.half_quartiles([1, 2, 3, 4, 9]) == 1 and c.quartile([5, 3, 4, 2, 1]) == 2
assert c.seconds(result([0], base=(9, 2, 3)), "base") == 3
# The price is that of the middle calibration, also if another one is disturbed; a run is compared
# within its round only.
changing = result([1.5, 9, 2], base=(9, 9, 9), unbacked=(3, 4, 6), profile=(1, 2, 4))
assert c.predicted_in_rounds(changing) == [1, 2, 4] and near(c.error(changing), 0)
assert near(c.error_apart({**changing, "profile": way(1, 4, 2.5)}, c.predicted_in_rounds, c.statistics.median), (4 - 2) / 2.5 - 1)
assert near(c.error_apart({**changing, "profile": way(2, 4, 2.5)}, c.predicted_in_rounds, min), (3 - 2) / 2 - 1)
assert near(c.error(result([0.5], unbacked=(2, 2, 2), profile=(1.6, 1.6, 9))), 1.5 / 1.6 - 1)
assert near(c.error(result([0.2], base=(2,), unbacked=(1.8,), profile=(1.6,))), 0)  # the saving of a denser heap does not count for pages
# Switched off, by the saving of another input as a share of its prediction: neither the plain
# program nor base pages.
taught = result([9], 0.8, base=(7,), unbacked=(8,), off=(2,), profile=(1.6,))
assert near(c.error(taught, c.learned_in_rounds), 0) and near(c.error_apart(taught, c.learned_in_rounds, min), 0)
assert c.learned_in_rounds({**result([0], off=(2,)), "promised_seconds": 0}) == [2]
assert c.loss(result([0], base=(2, 2, 2), profile=(2.1, 2.1, 2.1))) and c.loss(result([0], base=(2, 2, 2), profile=(1.5, 1.5, 1.5))) is None
assert near(c.loss(result([0], base=(1, 2, 3, 4), profile=(1.1, 2.2, 3.3, 4.4))), 0.1)  # of each round's own value
assert c.loss(result([0], base=(2, 2, 2, 2, 2), profile=(2.1, 1.8, 2.2, 2.1, 2.4))) is None  # within the spread
two = {"programs": [changing, result([1], 1, unbacked=(3,), off=(3,), profile=(2.5,))]}
assert c.median_error(two, c.error) == "10.0 %"
def report(chosen, joint):
    return {"chosen": {"saved_cycles_joint": joint}, "mappings": [
        {"category": {"kind": "site", "id": name, "context": None}, "chosen": name in chosen, "saved_cycles": 3e9} for name in "ab"]}
old = {"schema": 8, "machine": "m", "host": {"cpu": "x"}, "runs": 5, "whole_blocks": True, "kept_from_host": True, "programs": [{"name": "a", "t": 1}, {"name": "b", "t": 1}]}
new = {**old, "programs": [{"name": "b", "t": 2}]}
assert [p["t"] for p in c.merged(old, new)["programs"]] == [1, 2]
for key in ("runs", "whole_blocks"):
    try:
        c.merged(old, {**new, key: 3})
        raise AssertionError(f"runs of other {key} are put beside each other")
    except SystemExit:
        pass
asked = c.chosen_by(report("a", 4e9))
assert c.saved_seconds(report("a", 4e9), 1e9, asked) == 4  # the figure of the choice itself
assert c.saved_seconds(report("ab", 4e9), 1e9, asked) == 3  # the other calibration chose more: the saving that it gives for these
PY
python3 - "$SMALLOC_SOURCE/scripts" <<'PY' || fail "steady memory"
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import steady_memory as s
touched = []
s.bench_runs.warm = touched.append
reported, s.PIECES = Path("order"), Path("pieces")
s.COMPACT, s.DROP_CACHES = Path("compact"), Path("caches")
s.REPORTED_FROM = reported
reported.write_text("9\n")
def state():
    return reported.read_text()
with s.SteadyMemory(False) as memory:  # not requested
    memory.prepare(1)
    assert (memory.is_kept, memory.is_whole, touched, state()) == (False, False, [], "9\n")
with s.SteadyMemory() as memory:  # not permitted
    memory.prepare(1)
    assert (memory.is_kept, memory.is_whole, touched, state()) == (False, False, [1 + s.ROOM], "9\n")
# Pieces of the highest zone, below superpages, that programs can get: 1000 + 2 * 500 + 256 * 4
# pages. Here they do not decrease, so only the limit of held memory ends the loop: those once, and
# at least 2048 more.
def line(zone, kind, *free):
    return f"Node    0, zone {zone:>8}, type {kind:>12} {' '.join(str(n) for n in free)}\n"
s.PIECES.write_text("Page block order: 9\nPages per block:  512\n\n" + line("DMA32", "Movable", 9000, *[0] * 10)
                    + line("Normal", "Unmovable", 9000, *[0] * 10) + line("Normal", "Movable", 1000, 500, *[0] * 6, 4, 7, 9)
                    + "\nNumber of blocks type     Unmovable      Movable\nNode 0, zone   Normal          116         9080\n")
touched.clear()
memory_of_all = s.bench_runs.status_bytes
s.bench_runs.status_bytes = lambda path, key: s.HELD_SHARE * 5000 * 4096 if key == "MemTotal:" else memory_of_all(path, key)
assert not s.COMPACT.exists() and not s.DROP_CACHES.exists()  # without permission nothing changes
with s.SteadyMemory() as memory:
    assert s.DROP_CACHES.read_text() == "1" and not s.COMPACT.exists()
    for _ in range(2):  # held memory is given back first
        memory.prepare(1)
        assert memory.held_bytes == 3024 * 4096, memory.held_bytes
    assert memory.is_kept and memory.is_whole and state() == s.NOTHING_IS_REPORTED and len(touched) == 1
    assert s.COMPACT.read_text() == "1"
assert state() == "9\n"
# The kernel ends counting at a hundred thousand of a kind.
pieces = s.PIECES.read_text()
s.PIECES.write_text(pieces + line("Normal", "Movable", ">100000", *[0] * 10))
with s.SteadyMemory() as memory:
    memory.prepare(1)
    assert memory.held_bytes == 5000 * 4096, memory.held_bytes
s.PIECES.write_text(pieces)
touched.clear()
for end in (lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: os.kill(os.getpid(), signal.SIGHUP), lambda: 1 / 0):
    try:
        with s.SteadyMemory() as memory:
            assert state() == s.NOTHING_IS_REPORTED
            end()
        raise AssertionError("went on")
    except (SystemExit, ZeroDivisionError):
        assert state() == "9\n"
def interrupted(_):
    raise KeyboardInterrupt
s.bench_runs.warm = interrupted
try:
    with s.SteadyMemory():
        raise AssertionError("was not interrupted")
except KeyboardInterrupt:
    assert state() == "9\n"
s.bench_runs.warm = touched.append
s.REPORTED_FROM = Path("none")  # a kernel that reports nothing
touched.clear()
with s.SteadyMemory() as memory:
    memory.prepare(1)
    assert not memory.is_kept and memory.is_whole and touched == [1 + s.ROOM]
PY
expect_status 1 python3 "${times[@]}" -p nosuch
expect_match err '^chosen_times.py: error: nosuch: no such program'
expect_status 1 python3 "$SMALLOC_SOURCE/scripts/chosen_times.py" --build /nowhere
expect_match err '^hint: cmake --build build'
