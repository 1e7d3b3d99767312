# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""steady_memory.py prepares the memory of measured programs, so that each run gets the same, as far
as root can.

A kernel hands out scattered free frames before it breaks larger blocks. If a hypervisor backs a
guest with small pages, scattered frames also have scattered page tables in the host. On a Xeon
guest the same chase over 65,536 base pages took 50 cycles a walk out of whole blocks, and 110 to
400 out of frames that other programs had left. Superpages are whole wherever they lie.

So free pieces are merged (compaction, after dropping the page cache between them), and a process
holds the pieces that are left. It holds a fourth of the memory at most, which the pieces exceed
after hours of compiling. A guest that reports its free superpages also loses them to the host
within seconds; getting one back takes 0.1 to 4 ms. So reporting is stopped meanwhile, and all free
memory is touched once.

  with SteadyMemory() as memory:
      memory.prepare(bytes)   # before each run, which leaves pieces behind; bytes: that it takes, where reporting cannot be stopped
"""
import signal
import subprocess
import sys
from pathlib import Path

import bench_runs

REPORTED_FROM = Path("/sys/module/page_reporting/parameters/page_reporting_order")
PIECES = Path("/proc/pagetypeinfo")
COMPACT, DROP_CACHES = Path("/proc/sys/vm/compact_memory"), Path("/proc/sys/vm/drop_caches")
NOTHING_IS_REPORTED = "11"  # larger than any block
ROOM = 64 << 20  # in addition to the program's memory
LEFT_FREE = 1 << 30  # of the memory that is touched first

HOLDER = """
import mmap, sys
LEAST = 2048  # pages: some are always in transit
ROUNDS = 4    # breaking another kind's block leaves pieces
SUPERPAGE_ORDER = 9

def pieces():
    # Of the highest zone, which serves programs first. Pieces of lower zones are unused until that
    # zone is full.
    zones = {}
    with open(sys.argv[2], encoding="ascii") as lines:
        for line in lines:
            place, _, kind = line.partition(", type")
            if kind and "zone" in place:
                name, *free = kind.split()
                if name == "Movable" and any(blocks != "0" for blocks in free):
                    node, zone = place.split("zone")
                    # The kernel stops counting at a hundred thousand of a kind: ">100000". The next
                    # round finds the rest.
                    zones[node] = sum(int(blocks.lstrip(">")) << order for order, blocks in enumerate(free[:SUPERPAGE_ORDER]))
    return sum(zones.values())

most = int(sys.argv[1]) // mmap.PAGESIZE
for _ in sys.stdin:
    held = []  # the last pages are free again, and merge with their free neighbours
    pages = 0
    for _ in range(ROUNDS):
        more = min(pieces(), most - pages)
        if more < LEAST:
            break
        memory = mmap.mmap(-1, more * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
        held.append(memory)
        pages += more
    print(pages * mmap.PAGESIZE, flush=True)
"""
HELD_SHARE = 4  # at most a fourth of the machine's memory


def readable(path):
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return None


def ask(path, text):
    """Writes a setting of a kernel that may not have it."""
    try:
        path.write_text(text, encoding="ascii")
    except OSError:
        pass


class SteadyMemory:
    """Prepares and holds memory. The holder's memory is not that of a measured program. The old
    settings are restored at the end of the with statement, also by a signal. After SIGKILL: echo 9
    > /sys/module/page_reporting/parameters/page_reporting_order, if it was that before. Not wanted
    (for runs whose times do not matter): does nothing."""

    def __init__(self, wanted=True):
        self._wanted = wanted
        self._holder = self._reported_from = None
        self.held_bytes = 0

    def __enter__(self):
        if not self._wanted:
            return self
        if readable(PIECES) is None:
            print("steady_memory: only root can hold what is free in pieces, and keep free superpages from the host: times will differ more "
                  "from run to run", file=sys.stderr)
            return self
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        ask(DROP_CACHES, "1")
        most = bench_runs.status_bytes("/proc/meminfo", "MemTotal:") // HELD_SHARE
        self._holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(most), str(PIECES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        reported_from = readable(REPORTED_FROM)
        try:
            if reported_from is not None:
                REPORTED_FROM.write_text(NOTHING_IS_REPORTED, encoding="ascii")
                self._reported_from = reported_from
        except OSError:
            pass  # the kernel has no such setting: memory is touched before each run
        if self.is_kept:
            try:
                bench_runs.warm(max(bench_runs.status_bytes("/proc/meminfo", "MemFree:") - LEFT_FREE, 0))
            except BaseException:  # an interrupt in its first half minute
                self.__exit__()
                raise
        return self

    def __exit__(self, *_):
        if self._reported_from is not None:
            REPORTED_FROM.write_text(self._reported_from, encoding="ascii")
        if self._holder:
            self._holder.communicate()

    @property
    def is_kept(self):
        """True if free memory is not reported to the host."""
        return self._reported_from is not None

    @property
    def is_whole(self):
        """True if base pages come out of whole blocks."""
        return self._holder is not None

    def prepare(self, needed):
        if self._holder:
            ask(COMPACT, "1")
            self._holder.stdin.write("\n")
            self._holder.stdin.flush()
            self.held_bytes = int(self._holder.stdout.readline())
        if self._wanted and not self.is_kept:
            bench_runs.warm(needed + ROOM)
