# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setup_cost.py finds the packages of a commit's demo, and compares the costs of two demos. The
# recorded packages are within their limit, half of the megabytes of the former demo.
. "$(dirname "$0")/../support/lib.sh"
command -v python3 >/dev/null || skip "no python3"
python3 -B - "$SMALLOC_SOURCE" <<'PY' || fail "see above"
import json, pathlib, sys
source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "scripts"))
import setup_cost

assert setup_cost.install_command((source / "scripts" / "demo").read_text()) == "scripts/install-packages --set demo"
assert setup_cost.install_command("if x; then\n  scripts/install-packages dpkg-dev || exit 1\n") == "scripts/install-packages dpkg-dev"

def run(seconds):
    return {"seconds": seconds, "cpu_seconds": 2 * seconds}

report = {"packages": {"demo": {"packages": 5, "download_mb": 20.0, "disk_mb": 10}},
          "against": {"commit": "1234567", "packages": {"packages": 10, "download_mb": 50.0, "disk_mb": 40}}}
page = setup_cost.comparison(report)
assert "| MB to download | 20.0 | 50.0 | 0.400 |" in page and "seconds" not in page, page
report["against"].update(runs=[run(20), run(40)], demo=run(100), load="", machine={"cpus": 2, "cpu": "X", "hypervisor": False})
page = setup_cost.comparison(report)
assert "| its processor seconds | 40 and 80 | 200 | 0.300 |" in page, page

recorded = json.loads((source / "benchmarks" / "results" / "setup.json").read_text())
now, then = recorded["packages"]["demo"], recorded["against"]["packages"]
assert now["download_mb"] <= 0.5 * then["download_mb"], (now, then)
PY
expect_status 2 "$SMALLOC_SOURCE/scripts/setup_cost.py" demo --root ./nosuch
expect_match err 'no system there'
expect_status 2 "$SMALLOC_SOURCE/scripts/setup_cost.py" demo --root / --against nosuch
expect_match err 'no such commit'
