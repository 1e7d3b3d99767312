# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench_runs.py runs a program once on prepared memory, and returns the digest of its output, its
times, its peak memory and its superpages. A run whose configuration did not take effect does not
count."""
import ctypes
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SUPERPAGE_BYTES = 2 << 20
PR_SET_THP_DISABLE = 41
LIBC = ctypes.CDLL(None)  # loaded here: a forked child must not load anything
ATTEMPTS = 10  # starts allowed until glibc's tunable takes effect
IGNORED_BYTES = 96 << 20  # a program of that size without a superpage ran without the tunable


def status_bytes(path, key):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith(key):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


class Watcher(threading.Thread):
    """Samples superpages (smaps_rollup, rarely, because it walks the page tables) and the
    high-water mark of memory. With needs_superpages it ends a program that has more than
    IGNORED_BYTES and no superpage, because that run would not count."""

    def __init__(self, pid, needs_superpages=False):
        super().__init__(daemon=True)
        self.pid, self.superpage_bytes, self.peak_bytes = pid, 0, 0
        self.needs_superpages, self.ended = needs_superpages, False
        self.stop = threading.Event()

    def run(self):
        pause, next_rollup = 0.002, 0.0
        started = time.monotonic()
        while not self.stop.wait(pause):
            self.peak_bytes = max(self.peak_bytes, status_bytes(f"/proc/{self.pid}/status", "VmHWM:"))
            elapsed = time.monotonic() - started
            if elapsed >= next_rollup:
                huge = status_bytes(f"/proc/{self.pid}/smaps_rollup", "AnonHugePages:")
                self.superpage_bytes = max(self.superpage_bytes, huge)
                next_rollup = elapsed + min(0.4, 0.01 + elapsed / 4)
                if self.needs_superpages and not self.superpage_bytes and self.peak_bytes > IGNORED_BYTES:
                    self.ended = True
                    os.kill(self.pid, signal.SIGKILL)
                    return
            pause = min(0.1, pause * 1.5)


def run_once(command, extra, cpu, ok_status=0, needs_superpages=False, base_pages=False):
    """Runs once; returns times, peak memory, superpages, faults, digest of stdout. None: ended
    early, without superpages. With base_pages the kernel gives the program no transparent
    superpage, whatever requests one."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_CONF", "SMALLOC_CONF")}
    environment.update(extra)

    def prepare():
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        if base_pages and LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0):
            raise OSError("the kernel has no PR_SET_THP_DISABLE")

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                 preexec_fn=prepare)
        watcher = Watcher(child.pid, needs_superpages)
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - started
        watcher.stop.set()
        watcher.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        if watcher.ended and child.returncode == -signal.SIGKILL:
            return None
        if child.returncode != ok_status:
            err.seek(0)
            raise RuntimeError(f"exit status {child.returncode}: {shlex.join(command)}\n"
                               f"{err.read()[-2000:].decode(errors='replace')}")
        out.seek(0)
        digest = hashlib.sha256(out.read()).hexdigest()
    # A child's ru_maxrss starts with the size of the process that forked it. For small programs
    # only the samples count.
    own = status_bytes("/proc/self/status", "VmHWM:")
    rss = usage.ru_maxrss * 1024
    return {"user_seconds": usage.ru_utime, "system_seconds": usage.ru_stime, "wall_seconds": wall,
            "peak_rss_bytes": watcher.peak_bytes if watcher.peak_bytes and rss <= 2 * own else rss,
            "superpages": watcher.superpage_bytes // SUPERPAGE_BYTES, "minor_faults": usage.ru_minflt,
            "output_sha256": digest}


WARM = """
import ctypes, mmap, sys
size = int(sys.argv[1])
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared memory has no superpages
memory.madvise(mmap.MADV_HUGEPAGE)
ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, size)
"""


def warm(size):
    """Touches that much memory and gives it back. A guest reports free 2 MiB blocks to its host
    after two seconds, and the next superpage then waits for the host. After this call every run
    starts with memory that the guest has."""
    if size > (64 << 20):
        subprocess.run([sys.executable, "-c", WARM, str(size // SUPERPAGE_BYTES * SUPERPAGE_BYTES)], check=False)


def run_checked(command, name, extra, options, program, warm_bytes):
    """Runs as run_once, but repeats a glibc hugetlb=1 run that was ignored. Returns whether it took
    effect in the end."""
    attempts = ATTEMPTS if name == "thp" else 1
    for attempt in range(attempts):
        warm(warm_bytes)
        result = run_once(command, extra, options.cpu, program.get("status", 0), attempt + 1 < attempts)
        if result is None:
            continue
        result["in_effect"] = name != "thp" or result["superpages"] > 0
        if result["in_effect"]:
            break
        if result["peak_rss_bytes"] < 3 * SUPERPAGE_BYTES and attempt >= 4:
            break  # too small to check: no memory to prepare
    return result


def machine_in_words(host):
    """Returns "2 CPUs (AMD EPYC, virtual machine)" for what machine() has returned."""
    return f"{host['cpus']} CPUs ({host['cpu']}{', virtual machine' if host['hypervisor'] else ''})"


def machine():
    def first(path, pattern):
        try:
            found = re.search(pattern, Path(path).read_text(encoding="utf-8", errors="replace"))
            return found.group(1).strip() if found else None
        except OSError:
            return None
    return {"cpu": first("/proc/cpuinfo", r"model name\s*:\s*(.*)"), "cpus": os.cpu_count(),
            "memory_bytes": status_bytes("/proc/meminfo", "MemTotal:"), "kernel": os.uname().release,
            "thp": first("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
            "hypervisor": "hypervisor" in (first("/proc/cpuinfo", r"flags\s*:\s*(.*)") or "")}
