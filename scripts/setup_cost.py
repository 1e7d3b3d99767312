#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what the two set-up commands of README.md cost on a clean Debian 12.

  debootstrap --variant=minbase --include=ca-certificates bookworm DIR     and bookworm-security in its sources.list
  setup_cost.py --root DIR packages --record    packages, megabytes and disk of each set; installs nothing
  setup_cost.py --root DIR demo --record        runs scripts/demo on a clone of the last commit in DIR: time and memory

Without --record the results are printed only. Needs root. `demo` wants /proc, /sys and /dev mounted in DIR.
"""
import argparse
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from bench_runs import machine  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "setup.json"


def apt_cost(root, packages):
    """Of packages that are not installed below `root`, with all that they depend on."""
    command = ["chroot", root, "env", "LC_ALL=C", "apt-get", "install", "--no-install-recommends"]
    text = subprocess.run([*command, "--assume-no", *packages], capture_output=True, text=True, check=False).stdout
    listed = subprocess.run([*command, "--dry-run", *packages], capture_output=True, text=True, check=True).stdout
    got = re.search(r"Need to get (?:[\d.,]+ MB/)?([\d.,]+) MB", text)
    used = re.search(r"After this operation, ([\d.,]+) MB", text)
    return {"packages": len(re.findall(r"^Inst ", listed, re.M)),
            "download_mb": float(got[1].replace(",", "")) if got else 0, "disk_mb": float(used[1].replace(",", "")) if used else 0}


def package_costs(root):
    costs = {}
    for name in ("demo", "test"):
        listed = subprocess.run([ROOT / "scripts" / "install-packages", "--set", name, "--list"], capture_output=True, text=True, check=True)
        costs[name] = apt_cost(root, listed.stdout.split())
    return costs


def demo_cost(root):
    clone = root / "root" / "smalloc"
    subprocess.run(["rm", "-rf", clone], check=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    subprocess.run(["chroot", root, "bash", "-c", "cd /root/smalloc && scripts/install-packages --set demo"],
                   stdout=subprocess.DEVNULL, check=True)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["chroot", root, "/usr/bin/env", "-i", "HOME=/root", "TERM=dumb", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                    "bash", "-c", "cd /root/smalloc && scripts/demo"], stdin=subprocess.DEVNULL, check=True)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = subprocess.run(["du", "-sm", clone / "build"], capture_output=True, text=True, check=True).stdout
    return {"seconds": seconds, "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "largest_process_mb": after.ru_maxrss / 1024, "build_mb": int(size.split()[0])}


def page(report):
    """The words of README.md."""
    sets, demo = report["packages"], report.get("demo")
    words = "Packages, on a Debian 12 of nothing else (debootstrap's minbase): " + "; ".join(
        f"`scripts/{name}` {s['packages']}, {s['download_mb']:.0f} MB to download, {s['disk_mb'] / 1000:.1f} GB on disk"
        for name, s in sets.items()) + "."
    if demo:
        m = report["machine"]
        words += (f" With the packages there, `scripts/demo` took {demo['seconds'] / 60:.0f} min, {demo['cpu_seconds'] / 60:.0f} min of "
                  f"processor time, {demo['build_mb']} MB in `build/`, and {demo['largest_process_mb']:.0f} MB in its largest process: on "
                  f"{m['cpus']} CPUs of a {m['cpu']}{' (virtual machine)' if m['hypervisor'] else ''}{report.get('load', '')}.")
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("packages", "demo"))
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    made = package_costs(options.root) if options.what == "packages" else demo_cost(options.root)
    print(json.dumps(made, indent=1))
    if not options.record:
        return 0
    report = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"schema": "smalloc.setup/1"}
    report[options.what] = made
    if options.what == "demo":
        with open("/proc/loadavg", encoding="ascii") as file:
            load = float(file.read().split()[2])
        report["machine"] = machine()
        report["load"] = f", shared with other work (load average {load:.0f})" if load > 2 * report["machine"]["cpus"] else ""
    RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return subprocess.run([sys.executable, ROOT / "scripts" / "regen_docs.py"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
