#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what the two set-up commands of README.md cost on a clean Debian 12.

  debootstrap --variant=minbase --include=ca-certificates bookworm DIR     and bookworm-security in its sources.list
  setup_cost.py --root DIR packages --record    packages, megabytes and disk of each set; installs nothing
  setup_cost.py --root DIR demo --record        runs scripts/demo on a clone of the last commit in DIR: time and memory

Both with --against COMMIT also measure the demo of COMMIT, for docs/evidence/setup.md. `demo` then copies DIR before
anything is installed there, gives each commit its packages, and runs: last commit, COMMIT, last commit.

Without --record the results are printed only. Needs root. Each command in DIR has mounts of its own, which end with it.
"""
import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from bench_runs import machine, machine_in_words  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "setup.json"
IN_ROOT = """mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" && mount --rbind --make-rslave /dev "$1/dev" &&
exec chroot "$1" /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /root/smalloc && $2\""""


def in_root(root, command, **options):
    """Runs a command of Bash in the clone below `root`."""
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_ROOT, "sh", root, command],
                          stdin=subprocess.DEVNULL, **options)


def clone_into(root, commit="HEAD"):
    clone = root / "root" / "smalloc"
    subprocess.run(["rm", "-rf", clone], check=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    subprocess.run(["git", "-C", clone, "checkout", "-q", "--detach", git("rev-parse", commit)], check=True)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def install_command(demo):
    """Returns the command by which a text of scripts/demo installs its packages."""
    return re.search(r"^\s*(scripts/install-packages(?: +[\w-]+)*)", demo, re.M)[1]


def apt_cost(root, packages):
    """Returns the cost of packages that are not installed below `root`, with all that they depend on."""
    command = "apt-get install --no-install-recommends {} " + " ".join(packages)
    text = in_root(root, command.format("--assume-no"), capture_output=True, text=True, check=False).stdout
    files = in_root(root, command.format("-qq --print-uris"), capture_output=True, text=True, check=True).stdout
    sizes = [int(size) for size in re.findall(r"^'\S+' \S+ (\d+) ", files, re.M)]
    used = re.search(r"After this operation, ([\d.,]+) MB", text)
    return {"packages": len(sizes), "download_mb": sum(sizes) / 1e6, "disk_mb": float(used[1].replace(",", "")) if used else 0}


def missing_packages(root, command):
    """Returns the packages that an install command of the clone below `root` would add."""
    text = in_root(root, f"{command} --check", capture_output=True, text=True, check=False).stdout
    return re.search(r"^missing packages: (.*)$", text, re.M)[1].split()


def package_costs(root):
    clone_into(root)
    return {name: apt_cost(root, missing_packages(root, f"scripts/install-packages --set {name}")) for name in ("demo", "test")}


def package_cost_at(root, commit):
    clone_into(root, commit)
    return apt_cost(root, missing_packages(root, install_command(git("show", f"{commit}:scripts/demo"))))


def install(root, commit="HEAD"):
    """Clones a commit below `root`, and installs the packages of its demo."""
    clone_into(root, commit)
    in_root(root, install_command(git("show", f"{commit}:scripts/demo")), stdout=subprocess.DEVNULL, check=True)


def demo_cost(root):
    """Runs the demo of the clone below `root`, from an empty build/."""
    build = root / "root" / "smalloc" / "build"
    subprocess.run(["rm", "-rf", build], check=True)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    in_root(root, "scripts/demo", check=True)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = subprocess.run(["du", "-sm", build], capture_output=True, text=True, check=True).stdout
    return {"seconds": seconds, "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "largest_process_mb": after.ru_maxrss / 1024, "build_mb": int(size.split()[0])}


def demo_costs(root, commit):
    """Returns the cost of two demos of the last commit, and of one of `commit` between them."""
    other = root.with_name(f"{root.name}.{commit}")
    try:
        subprocess.run(["cp", "-a", "--reflink=auto", root, other], check=True)
        install(root)
        install(other, commit)
        first = demo_cost(root)
        against = demo_cost(other)
        return [first, demo_cost(root)], against
    finally:
        shutil.rmtree(other, ignore_errors=True)


def load_words(cpus):
    with open("/proc/loadavg", encoding="ascii") as file:
        load = float(file.read().split()[2])
    return f", shared with other work (load average {load:.0f})" if load > 2 * cpus else ""


def machine_words(report):
    m = report["machine"]
    return f"{machine_in_words(m)}{report.get('load', '')}"


def page(report):
    """The words of README.md."""
    sets, demo = report["packages"], report.get("demo")
    words = "Packages, on a Debian 12 of nothing else (debootstrap's minbase): " + "; ".join(
        f"`scripts/{name}` {s['packages']}, {s['download_mb']:.0f} MB to download, {s['disk_mb'] / 1000:.1f} GB on disk"
        for name, s in sets.items()) + "."
    if demo:
        words += (f" With the packages there, `scripts/demo` took {demo['seconds'] / 60:.0f} min, {demo['cpu_seconds'] / 60:.0f} min of "
                  f"processor time, {demo['build_mb']} MB in `build/`, and {demo['largest_process_mb']:.0f} MB in its largest process: on "
                  f"{machine_words(report)}.")
    return words


def comparison(report):
    """The table of docs/evidence/setup.md: the demo beside that of an earlier commit."""
    against = report["against"]
    rows = []
    if "packages" in against:
        now, then = report["packages"]["demo"], against["packages"]
        rows += [(what, f"{now[key]:.{digits}f}", f"{then[key]:.{digits}f}", now[key] / then[key])
                 for what, key, digits in (("packages", "packages", 0), ("MB to download", "download_mb", 1), ("MB on disk", "disk_mb", 0))]
    if "demo" in against:
        now, then = against["runs"], against["demo"]
        rows += [(what, " and ".join(f"{run[key]:.0f}" for run in now), f"{then[key]:.0f}",
                  sum(run[key] for run in now) / len(now) / then[key])
                 for what, key in (("seconds of the demo, packages there", "seconds"), ("its processor seconds", "cpu_seconds"))]
    lines = [f"| cost of the demo | now | at {against['commit']} | share |", "|---|---|---|---|"]
    lines += [f"| {what} | {new} | {old} | {share:.3f} |" for what, new, old, share in rows]
    where = f" The demos ran one after the other on {machine_words(against)}; the share is that of the mean of now." if "demo" in against else ""
    return "\n".join(lines) + f"\n\nDebian 12 of nothing else (debootstrap's minbase).{where}"


def measure(report, options):
    """Measures what was asked for, and enters it into the report."""
    made, commit = {}, options.against
    against = report.get("against", {}) if report.get("against", {}).get("commit") == commit else {"commit": commit}
    if options.what == "packages":
        made["packages"] = package_costs(options.root)
        if commit:
            made["against"] = {**against, "packages": package_cost_at(options.root, commit)}
    elif commit:
        runs, other = demo_costs(options.root, commit)
        host = machine()
        made = {"demo": runs[-1], "against": {**against, "runs": runs, "demo": other, "machine": host, "load": load_words(host["cpus"])}}
    else:
        install(options.root)
        made["demo"] = demo_cost(options.root)
    if "demo" in made:
        made["machine"] = machine()
        made["load"] = load_words(made["machine"]["cpus"])
    report.update(made)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("packages", "demo"))
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit, whose demo is measured, too")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    options.root = options.root.resolve()
    if not (options.root / "etc").is_dir():
        parser.error(f"--root ({options.root}): no system there\nhint: debootstrap makes one: docs/evidence/setup.md")
    try:
        options.against = options.against and git("rev-parse", "--verify", "--short=7", options.against + "^{commit}")
    except subprocess.CalledProcessError:
        parser.error(f"--against ({options.against}): no such commit in this repository")
    report = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"schema": "smalloc.setup/1"}
    print(json.dumps(measure(report, options), indent=1))
    if not options.record:
        return 0
    RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return subprocess.run([sys.executable, ROOT / "scripts" / "regen_docs.py"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
