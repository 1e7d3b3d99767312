#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""live_overhead.py measures the cost of numa:migrate for a program without pages to migrate. This
machine is described as two nodes, and the second node has no processor, so every access is local.
Prints, for a program that sleeps and one that computes, the helper threads' processor time as a
share of a core (the promise: 0.5 %), and the change of the program's own time.

  live_overhead.py BUILD [--seconds S] [--runs N]
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def described_machine(folder):
    for n, cpus in ((0, "0-1023"), (1, "")):
        node = folder / f"devices/system/node/node{n}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(cpus + "\n")
        (node / "meminfo").write_text(f"Node {n} MemTotal: 4000000 kB\nNode {n} MemFree: 3000000 kB\n")
        (node / "distance").write_text("10 30\n" if n == 0 else "30 10\n")
    (folder / "devices/system/node/online").write_text("0-1\n")
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    build = args.build.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        sysfs = described_machine(Path(scratch) / "sys")
        loop = Path(scratch) / "loop"
        source = ("#include <stdlib.h>\nint main(int c,char**v){long n=(64l<<20)/8,r=atol(v[1]);double*a=calloc(n,8);"
                  "for(long k=0;k<r;k++)for(long i=0;i<n;i++)a[i]+=k;return a[n-1]<0;}")
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", loop], input=source.encode(), check=True)
        environment = dict(os.environ, LD_PRELOAD=str(build / "lib/libsmalloc.so"))

        def run(conf, command):
            before = os.times()
            done = subprocess.run([str(c) for c in command], env=dict(environment, SMALLOC_CONF=conf),
                                  capture_output=True, text=True, check=True)
            after = os.times()
            own = re.search(r"own time (\d+) us", done.stderr)
            line = re.search(r"smalloc: numa: .*", done.stderr)
            return (after.children_user + after.children_system - before.children_user - before.children_system,
                    after.elapsed - before.elapsed, int(own.group(1)) / 1e6 if own else 0.0, line.group(0) if line else "")

        on = f"numa:migrate,sysfs:{sysfs},stats:exit"
        off = f"numa:off,sysfs:{sysfs},stats:exit"
        _, elapsed, own, line = run(on, [build / "tests/numa_walker", "idle", "base", 64, args.seconds])
        print(f"sleeping: {100 * own / elapsed:.3f} % of a core in {elapsed:.1f} s\n  {line}")
        rounds = max(1, int(args.seconds * 20))
        pairs = [(run(off, [loop, rounds]), run(on, [loop, rounds])) for _ in range(args.runs)]
        share = statistics.median(b[2] / b[1] for _, b in pairs)
        change = statistics.median(b[0] / a[0] - 1 for a, b in pairs)
        spread = max(a[0] for a, _ in pairs) / min(a[0] for a, _ in pairs) - 1
        print(f"computing: helpers {100 * share:.3f} % of a core; processor time of all {100 * change:+.2f} % "
              f"(runs without differ by {100 * spread:.1f} %)\n  {pairs[-1][1][3]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
