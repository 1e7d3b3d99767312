#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands whose output README.md and docs/decide.md show, on docs/examples/lookup.c.

The plugin decides for a preset machine (zen4), so that its remarks are the same everywhere. The times of `smalloc try`
are this machine's.

  first_look.py                    print each command and its output
  first_look.py --record           also keep them in benchmarks/results/first-look.json, for scripts/regen_docs.py
  first_look.py --record --only remarks,sites
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from bench_runs import machine  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "first-look.json"
# name: the command as a user types it. What the plugin reports goes to standard error.
COMMANDS = {
    "remarks": "smalloc-cc -O2 -g1 -Rpass=smalloc lookup.c -o lookup",
    "sites": "smalloc sites ./lookup",
    "try": "smalloc try -- ./plain",
}
WIDTH = 100  # columns of a line in README.md


def run(build, folder, command):
    """The output of `command` in `folder`, with the build's own commands first on PATH."""
    words = command.split()
    if words[0] == "smalloc-cc":
        words[1:1] = ["-fplugin-arg-smalloc-machine=zen4", "-fno-caret-diagnostics"]
    environment = {**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(words, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def outputs(build, names):
    """name -> output of the command, in the order in which they depend on each other."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "lookup.c"
        source.write_text((ROOT / "docs" / "examples" / "lookup.c").read_text(encoding="utf-8"), encoding="utf-8")
        compiler = os.environ.get("CLANG", "clang-22")
        subprocess.run([compiler, "-O2", "lookup.c", "-o", "plain"], cwd=folder, check=True)
        result = {}
        for name in COMMANDS:
            if name in names or name == "remarks":
                text = run(build, folder, COMMANDS[name]).replace(str(build / "bin") + "/", "")
                result[name] = re.sub(r"-fplugin=\S*/", "-fplugin=…/", text)
        return {name: text for name, text in result.items() if name in names}


def wrapped(line):
    """`line` broken between words at WIDTH columns; what follows is indented by four spaces."""
    lines = [""]
    for word in re.findall(r" *\S+", line):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH:
            lines.append("    " + word.lstrip())
        else:
            lines[-1] += word
    return lines


def page(report, names):
    """A block of output: each command behind a `$`, and its output."""
    text = ["```"]
    for name in names:
        text.append(f"$ {COMMANDS[name]}")
        for line in report["outputs"][name].rstrip().splitlines():
            text += wrapped(line)
    return "\n".join(text + ["```"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", default=",".join(COMMANDS), help=f"some of {','.join(COMMANDS)}")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    try:
        made = outputs(options.build.resolve(), options.only.split(","))
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"first_look.py: error: {error}\nhint: cmake --build build --target installed", file=sys.stderr)
        return 1
    for name, text in made.items():
        print(f"$ {COMMANDS[name]}\n{text}", end="")
    if not options.record:
        return 0
    report = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"outputs": {}}
    report = {"schema": "smalloc.first-look/1", "machine": machine() if "try" in made else report.get("machine", machine()),
              "outputs": {**report["outputs"], **made}}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return subprocess.run([sys.executable, ROOT / "scripts" / "regen_docs.py"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
