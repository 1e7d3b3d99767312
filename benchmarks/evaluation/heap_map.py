# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heap_map.py reads from the kernel which pages of a stopped process are base pages, and which are
superpages: by PAGEMAP_SCAN (Linux 6.7), unit by unit of 2 MiB."""

import ctypes
import fcntl
import os
import signal
import struct
import subprocess

import bench_runs

UNIT, PAGE = 2 << 20, 4096
ATTEMPTS = 5
PRESENT, ZERO_PAGE, HUGE = 1 << 3, 1 << 5, 1 << 6  # categories of PAGEMAP_SCAN
SCAN_BYTES, REGIONS = 96, 4096
SCAN = 3 << 30 | SCAN_BYTES << 16 | ord("f") << 8 | 16


def anonymous(pid):
    """Returns (start, end) of the writable anonymous mappings of a process, but for its stacks."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            name = words[5].strip() if len(words) > 5 else ""
            if words[1].startswith("rw-p") and (not name or name.startswith(("[heap", "[anon"))):
                found.append(tuple(int(word, 16) for word in words[0].split("-")))
    return found


def present(pagemap, start, end):
    """Yields (start, end, categories) of the pages of a range that are present. Raises OSError if
    the kernel has no PAGEMAP_SCAN."""
    regions = ctypes.create_string_buffer(24 * REGIONS)
    wanted = PRESENT | ZERO_PAGE | HUGE
    while start < end:
        where = (start, end, 0, ctypes.addressof(regions), REGIONS)
        scan = bytearray(struct.pack("12Q", SCAN_BYTES, 0, *where, 0, 0, PRESENT, 0, wanted))
        count = fcntl.ioctl(pagemap, SCAN, scan)
        yield from struct.iter_unpack("3Q", regions.raw[: 24 * count])
        walked = struct.unpack("12Q", scan)[4]
        if walked <= start:
            break
        start = walked


def units_of(pid):
    """Returns {unit number: [base pages, superpage pages]} of what a process has in memory, the
    zero page left out; both numbers are of 4 KiB. Raises OSError as present() does."""
    units = {}
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        for start, end in anonymous(pid):
            for first, last, categories in present(pagemap.fileno(), start, end):
                while first < last and not categories & ZERO_PAGE:
                    piece = min(last, (first // UNIT + 1) * UNIT)
                    own = units.setdefault(first // UNIT, [0, 0])
                    own[bool(categories & HUGE)] += (piece - first) // PAGE
                    first = piece
    return units


def stopped_units(command, line, environment, prepare):
    """Returns the units of a run that is stopped at a line, as stop_at(); none if it ended before
    the signal came. Raises RuntimeError if it does not write the line."""
    with subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
        preexec_fn=prepare,
    ) as child:
        try:
            if not any(words.startswith(line) for words in child.stderr):
                raise RuntimeError(f"{command[0]}: ended before it wrote: {line}")
            os.kill(child.pid, signal.SIGSTOP)  # send_signal() would reap a child that has ended
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            return units_of(child.pid)
        except ProcessLookupError:  # it has no memory left
            return {}
        finally:
            child.kill()


def stop_at(command, line, environment, base_pages=False):
    """Runs a program, stops it when it writes a line with this beginning to standard error, and
    returns the units of its heap in the order of addresses: [base pages, superpage pages], in
    4 KiB. With base_pages the kernel gives it no transparent superpage. On a busy machine the
    program may end before it is stopped; then it runs again. Raises RuntimeError if it ended so in
    all ATTEMPTS, or never writes the line; OSError as present() does."""

    def prepare():
        if base_pages and bench_runs.LIBC.prctl(bench_runs.PR_SET_THP_DISABLE, 1, 0, 0, 0):
            raise OSError("the kernel has no PR_SET_THP_DISABLE")

    for _ in range(ATTEMPTS):
        units = stopped_units(command, line, environment, prepare)
        if units:
            return [units[number] for number in sorted(units)]
    raise RuntimeError(f"{command[0]}: ended before it was stopped, {ATTEMPTS} times")
