# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""database.py keeps the trials of benchmarks/run in an SQLite file.

`smalloc db` has a database of its own, the history of programs. It is keyed by build-id, takes what
programs report when they end, and forgets old runs. A trial has other needs: it may be a simulation
or the time of an analysis, belongs to a commit of this repository, and is never forgotten. So trials
have a file of their own, with two tables: what a session ran on, and what each trial gave."""

import json
import sqlite3
import time

from evaluation.usage_error import UsageError

SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, mode TEXT NOT NULL, commit_id TEXT NOT NULL,
  dirty INTEGER NOT NULL, build TEXT NOT NULL, machine TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(id), key TEXT NOT NULL,
  finished TEXT NOT NULL, seconds REAL NOT NULL, numbers TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS trials_key ON trials(key);
"""
COLUMNS = (
    "trials.key, trials.numbers, trials.finished, sessions.commit_id, sessions.dirty, sessions.machine, "
    "sessions.versions FROM trials JOIN sessions ON sessions.id = trials.session"
)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Results(dict):
    """Numbers by key; and, for captions, what they were measured on."""

    def __init__(self, rows):
        super().__init__()
        self.of_key = {}
        for key, numbers, finished, commit, dirty, machine, versions in rows:
            self[key] = json.loads(numbers)
            self.of_key[key] = {
                "date": finished[:10],
                "commit": commit[:12] + ("+changes" if dirty else ""),
                "machine": json.loads(machine),
                "versions": json.loads(versions),
            }


class Database:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        # pylint: disable=attribute-defined-outside-init
        try:
            self.connection = sqlite3.connect(self.path, timeout=60)
            self.connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise UsageError(
                f"--database ({self.path})", str(error), "name a file that benchmarks/run has made, or a new one"
            ) from error
        return self

    def __exit__(self, *_):
        self.connection.close()

    def start(self, mode, here):
        with self.connection:
            return self.connection.execute(
                "INSERT INTO sessions (started, mode, commit_id, dirty, build, machine, versions) VALUES (?, ?, ?, "
                "?, ?, ?, ?)",
                (now(), mode, here.commit, here.dirty, here.build, here.machine, here.versions),
            ).lastrowid

    def add(self, session, key, seconds, numbers):
        """Adds a trial in a transaction of its own: an interruption loses at most the one that
        runs."""
        with self.connection:
            self.connection.execute(
                "INSERT INTO trials (session, key, finished, seconds, numbers) VALUES (?, ?, ?, ?, ?)",
                (session, key, now(), seconds, json.dumps(numbers)),
            )

    def results(self, mode, here):
        """The trials of this commit, build, machine and mode. A later one replaces an earlier
        one."""
        return Results(
            self.connection.execute(
                f"SELECT {COLUMNS} WHERE mode = ? AND commit_id = ? AND dirty = ? AND build = ? AND machine = ? "
                "ORDER BY trials.id",
                (mode, here.commit, here.dirty, here.build, here.machine),
            )
        )

    def newest(self, mode):
        """The newest trial of each key, of whatever commit: captions name it."""
        return Results(self.connection.execute(f"SELECT {COLUMNS} WHERE mode = ? ORDER BY trials.id", (mode,)))

    def durations(self, mode):
        """How long each trial took last time, for the time that is left."""
        return dict(
            self.connection.execute(
                "SELECT key, trials.seconds FROM trials JOIN sessions ON sessions.id = session "
                "WHERE mode = ? ORDER BY trials.id",
                (mode,),
            )
        )
