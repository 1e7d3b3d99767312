# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""session.py runs the trials of figures that the database lacks, and shows how far it is."""

import fcntl
import os
import signal
import sys
import time
from pathlib import Path

from evaluation.usage_error import UsageError


def kill_children():
    """Ends the processes that this one has started and not waited for: after an interruption they
    would go on."""
    for task in Path("/proc/self/task").iterdir():
        for word in (task / "children").read_text().split():
            try:
                os.kill(int(word), signal.SIGKILL)
            except ProcessLookupError:
                pass


class Progress:
    """A bar on a terminal; otherwise a line a trial."""

    def __init__(self, total, durations, keys):
        self.total, self.done, self.started = total, 0, time.monotonic()
        self.known, self.left = durations, list(keys)
        self.terminal = sys.stderr.isatty()

    def eta(self):
        """The time of the trials that are left: as long as last time, or as the mean of those of
        this session."""
        mean = (time.monotonic() - self.started) / self.done if self.done else None
        times = [self.known.get(key, mean) for key in self.left]
        if None in times:
            return "?"
        left = int(sum(times))
        return f"{left // 60} min {left % 60:02} s"

    def show(self, key):
        text = f"{self.done} of {self.total} trials, {self.eta()} left"
        if self.terminal:
            filled = 20 * self.done // max(self.total, 1)
            print(f"\r\033[K[{'#' * filled:20}] {text}: {key}"[:150], end="", file=sys.stderr, flush=True)
        else:
            print(f"{text}: {key}", file=sys.stderr, flush=True)

    def note(self, words):
        print(("\r\033[K" if self.terminal else "") + words, file=sys.stderr, flush=True)

    def advance(self, key):
        self.done += 1
        self.left.remove(key)

    def end(self):
        passed = int(time.monotonic() - self.started)
        self.note(f"{self.done} of {self.total} trials in {passed // 60} min {passed % 60:02} s")


def wanted_trials(chosen, mode):
    """The trials of all figures by key, in order; figures may share some."""
    trials = {}
    for figure in chosen:
        for key, measurement in figure.trials(mode):
            trials.setdefault(key, measurement)
    return trials


def measure(chosen, lab, database, here):
    """Runs what is missing; returns whether every trial gave numbers."""
    trials = wanted_trials(chosen, lab.mode)
    there = database.results(lab.mode, here)
    lab.known.update(there)
    missing = {key: measurement for key, measurement in trials.items() if key not in there}
    if len(missing) < len(trials):
        print(f"{len(trials) - len(missing)} of {len(trials)} trials are in the database", file=sys.stderr)
    if not missing:
        return True
    failed = 0
    # Two runs at once would measure each other.
    with open(lab.output / ".lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"--output ({lab.output})", "another benchmarks/run works there", "wait for its end"
            ) from error
        session = database.start(lab.mode, here)
        progress = Progress(len(missing), database.durations(lab.mode), missing)
        for key, measurement in missing.items():
            progress.show(key)
            began = time.monotonic()
            try:
                numbers = measurement(lab)
            except (RuntimeError, OSError) as error:
                failed += 1
                progress.note(
                    f"benchmarks/run: error: trial {key}: {error}\nhint: the figure is drawn without it; the next "
                    "start tries again"
                )
            else:
                database.add(session, key, time.monotonic() - began, numbers)
                lab.known[key] = numbers
            progress.advance(key)
        progress.end()
    return not failed
