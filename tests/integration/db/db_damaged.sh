# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A history with one overwritten place anywhere in it. A command either uses it, or refuses it with
# exit status 1. A refused history and its log stay unchanged, and no report of a run is lost.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
python3 - "$SMALLOC" <<'PY'
import hashlib, json, os, random, shutil, sqlite3, subprocess, sys

smalloc = sys.argv[1]
state = os.path.join(os.environ["XDG_STATE_HOME"], "smalloc")
runs, database = os.path.join(state, "runs"), os.path.join(state, "smalloc.db")
os.makedirs(runs, mode=0o700)
numbers = random.Random(7)

def report(number, program):
    directives = [{"site": "%016x" % (s * 77777777), "context": None, "taken": True, "superpages_predicted": 3, "superpages_peak": 3,
                   "live_bytes_peak": 9, "verdict": "held"} for s in range(1, 9)]
    with open(os.path.join(runs, program + ".jsonl"), "a") as out:
        out.write(json.dumps({"schema": "smalloc.run/1", "program": program, "path": "/bin/app" + program, "host": "host", "pid": number,
                              "started_ns": number * 1000003, "kind": "superpages", "policy": "same-input", "input": "%016x" % number,
                              "user_seconds": 0.5, "directives": directives}) + "\n")

def run(*arguments):
    return subprocess.run([smalloc, *arguments], capture_output=True, text=True, timeout=60)

for number in range(300):
    report(number, "aa%02d" % (number % 20))
made = run("db", "list", "--json")
assert made.returncode == 0 and json.loads(made.stdout)["totals"]["runs"] == 300, made
whole = open(database, "rb").read()
assert not os.path.exists(database + "-wal") and len(whole) > 20 * 4096, len(whole)

def files():
    found = {}
    for folder in (state, runs):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not name.endswith("-shm"):
                found[name] = hashlib.sha256(open(path, "rb").read()).hexdigest()
    return found

def attempt(damaged, what, log=None):
    shutil.rmtree(state)
    os.makedirs(runs, mode=0o700)
    open(database, "wb").write(damaged)
    if log:
        open(database + "-wal", "wb").write(log)
    for number in (1000, 1001):
        report(number, "aa%02d" % number)
    before = files()
    found = run("db", "list", "--json")
    if found.returncode == 0:
        assert not os.listdir(runs), (what, "reports are left though the history was used")
        json.loads(found.stdout)
        return "used"
    assert found.returncode == 1, (what, found)
    assert "cannot use the history" in found.stderr and "hint: " in found.stderr, (what, found.stderr)
    after = files()
    assert after == before, (what, found.stderr, before, after)
    return "refused"

counts = {"used": 0, "refused": 0}
pages = len(whole) // 4096
# The start of each page describes a tree; the first two pages hold the definitions of the tables.
# Then random places.
places = [page * 4096 + at for page in range(pages) for at in (numbers.randrange(16), numbers.randrange(4096))]
places += [numbers.randrange(8192) for _ in range(60)] + list(range(0, 100, 4))
for place in places:
    for length in (1, 300):
        damaged = bytearray(whole)
        damaged[place:place + length] = numbers.randbytes(len(damaged[place:place + length]))
        counts[attempt(bytes(damaged), (place, length))] += 1
for size in (len(whole) // 2, len(whole) - 4096, 4096, 5000, 100, 50):
    counts[attempt(whole[:size], ("cut", size))] += 1
assert counts["used"] > 10 and counts["refused"] > 100, counts

# A killed command's log is kept when the file below it turns out to be damaged.
shutil.rmtree(state)
os.makedirs(state, mode=0o700)
open(database, "wb").write(whole)
writer = sqlite3.connect(database)
writer.execute("PRAGMA wal_autocheckpoint = 0")
writer.execute("UPDATE machines SET cpu = 'x'")
writer.execute("UPDATE programs SET path = '/bin/other'")
writer.commit()
log = open(database + "-wal", "rb").read()
writer.close()
assert len(log) > 4096
damaged = bytearray(whole)
for page in range(4, pages):
    damaged[page * 4096:page * 4096 + 8] = b"\xff" * 8
assert attempt(bytes(damaged), "with a log", log) == "refused"
assert attempt(whole, "whole, with a log", log) == "used"
print(counts)
PY
