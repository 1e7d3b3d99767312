#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fleet.py measures one history on a PostgreSQL server that many hosts feed.

It starts a server of its own, fills a history with reports of runs, and then measures in this order:

  smalloc     concurrent reporters, each a host with a state folder of its own. Programs there leave
              their reports as libsmalloc writes them, and a command takes them into the history.
  copy        the rows that these commands have stored, into the same tables, by psql's \\copy
  pgbench     rows of the same form into the same tables, by pgbench: as many clients, each with one
              connection, and as many reports in a transaction as a command takes in (queries of
              mode `extended`, as the command's); then one report a transaction (`prepared`)
  apply       the start of a program by `smalloc apply`, with a history of few programs, one of many,
              and the filled one

Reports that are lost or counted twice are an error: exit status 1. So is a command that fails.

exit status: 0 done, 1 a report was lost or doubled, or a command failed, 2 usage
"""

import argparse
import json
import os
import pwd
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from usage_error import UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = "0123456789abcdef"
START_NS = 1_700_000_000_000_000_000
PROGRAM = "/bin/true"  # what `smalloc apply` starts
RUN_COLUMNS = (
    "id, program, host, pid, started_ns, kind, input, seconds, user_seconds, system_seconds, peak_bytes, "
    "minor_faults, major_faults, policy, superpages_peak, live_bytes_peak"
)
VALIDATION_COLUMNS = (
    "run, site, context, taken, superpages_predicted, superpages_peak, live_bytes_peak, verdict"
)


class Server:
    """A server of one's own, on a socket in a folder of its own. It does not run as root."""

    def __init__(self, folder, connections, durable):
        self.folder, self.data = folder, folder / "data"
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
        if not found:
            raise UsageError("initdb", "there is no PostgreSQL server", "apt-get install postgresql")
        self.bin = found[-1].parent
        for tool in ("psql", "pgbench"):
            if not (self.bin / tool).exists() and not shutil.which(tool):
                raise UsageError(tool, "not found", "apt-get install postgresql")
        self.prefix = []
        if os.geteuid() == 0:
            names = [name for name in ("postgres", "nobody") if name in {user.pw_name for user in pwd.getpwall()}]
            if not names or not shutil.which("runuser"):
                raise UsageError("runuser", "no other user can run the server", "run as another user than root")
            self.prefix = ["runuser", "-u", names[0], "--"]
            os.chown(folder, pwd.getpwnam(names[0]).pw_uid, -1)
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "tester", "--no-sync")
        settings = {
            "listen_addresses": "",
            "max_connections": connections + 20,
            "shared_buffers": "512MB",
            "max_wal_size": "8GB",
            "checkpoint_timeout": "30min",
            "fsync": "on" if durable else "off",
        }
        words = " ".join(f"-c {key}={value}" for key, value in settings.items())
        self.run("pg_ctl", "-D", self.data, "-w", "-l", folder / "log", "-o", f"-k {folder} {words}", "start")

    def run(self, tool, *words, text=None):
        path = self.bin / tool
        done = subprocess.run(
            [*self.prefix, str(path if path.exists() else tool), *map(str, words)],
            cwd=self.folder,
            input=text,
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{tool}: exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
        return done.stdout

    def stop(self):
        subprocess.run(
            [*self.prefix, str(self.bin / "pg_ctl"), "-D", str(self.data), "-m", "immediate", "stop"],
            cwd=self.folder,
            capture_output=True,
            check=False,
        )

    def sql(self, database, statement):
        return self.run(
            "psql", "-h", self.folder, "-U", "tester", "-d", database, "-v", "ON_ERROR_STOP=1", "-qAt", text=statement
        )

    def location(self, database):
        return f"postgresql://tester@/{database}?host={self.folder}"


def call(command, state):
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def build_id_of(program):
    """Returns the build-id of an ELF file, from its GNU note of 20 bytes."""
    data = Path(program).read_bytes()
    at = data.find(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0")
    if at < 0:
        raise UsageError(program, "it has no build-id of 20 bytes", "measure on a distribution whose programs have one")
    return data[at + 16 : at + 36].hex()


def make_history(server, database, smalloc, state):
    """Makes a database with the tables of a history, by the command."""
    server.run("createdb", "-h", server.folder, "-U", "tester", database)
    done = call([smalloc, "db", "list", "--db", server.location(database)], state)
    if done.returncode:
        raise RuntimeError(f"smalloc db list: {done.stderr.strip()[-500:]}")


def fill(server, database, programs, runs, hosts):
    """Fills a history: programs with an analysis and five directives each, and runs with a result of
    one directive. Program 0 is PROGRAM."""
    own = build_id_of(PROGRAM)
    name = f"CASE WHEN %s = 0 THEN '{own}' ELSE lpad(to_hex(%s), 40, '0') END"
    program = {word: name % (word, word) for word in ("p", f"i % {programs}")}
    server.sql(
        database,
        f"""SET search_path TO smalloc; SET synchronous_commit TO off; BEGIN;
INSERT INTO programs SELECT {program["p"]}, CASE WHEN p = 0 THEN '{os.path.realpath(PROGRAM)}'
  ELSE '/opt/fleet/bin/program' || p END, {START_NS}, {START_NS} + p FROM generate_series(0, {programs - 1}) p;
INSERT INTO analyses (program, created_ns, machine, input, traces, accesses, seconds, significant, cycles_base,
  saved_all, saved_joint, superpages_chosen) SELECT {program["p"]}, {START_NS}, 'zen4', '', 1, 1e9, 1, 1, 1e9,
  1e8, 1e8, 32 FROM generate_series(0, {programs - 1}) p;
INSERT INTO directives SELECT {program["p"]}, lpad(to_hex({int(SITE, 16)} + s), 16, '0'), '', 21, s + 1, 32, 50, '', '',
  0, 0 FROM generate_series(0, {programs - 1}) p, generate_series(0, 4) s;
INSERT INTO directive_headers SELECT {program["p"]}, 'machine', 'zen4' FROM generate_series(0, {programs - 1}) p;
INSERT INTO runs (program, host, pid, started_ns, kind, input, seconds, user_seconds, system_seconds, peak_bytes,
  minor_faults, major_faults, policy, superpages_peak, live_bytes_peak)
  SELECT {program[f"i % {programs}"]}, 'host' || i % {hosts}, i % 32768, {START_NS} + i, 'superpages', '', 1, 0.9, 0.1,
  134217728, 1000, 0, 'other-input', 32, 100000000 FROM generate_series(0, {runs - 1}) i;
INSERT INTO validations SELECT id, '{SITE}', '', 1, 32, 32, 67108864, 'held' FROM runs;
COMMIT; VACUUM ANALYZE; CHECKPOINT;""",
    )


class Reporter(threading.Thread):
    """A host: its programs leave reports, and a command takes them in, until the time is over."""

    def __init__(self, number, options, location, programs, until):
        super().__init__()
        self.number, self.options, self.location, self.until = number, options, location, until
        self.state = options.folder / f"state{number}"
        self.runs = self.state / "smalloc" / "runs"
        self.runs.mkdir(parents=True, mode=0o700)
        self.programs = random.Random(number).sample(programs, min(options.programs_of_host, len(programs)))
        self.reports = self.commands = 0
        self.seconds, self.errors = [], []

    def write_reports(self, count):
        lines = {}
        for _ in range(count):
            program = self.programs[self.reports % len(self.programs)]
            lines.setdefault(program, []).append(
                f'{{"schema":"smalloc.run/1","program":"{program}","path":"/opt/fleet/bin/{program}",'
                f'"host":"reporter{self.number}","pid":{self.reports % 32768},"started_ns":{START_NS + self.reports},'
                '"kind":"superpages","policy":"other-input","seconds":1.0,"user_seconds":0.9,"system_seconds":0.1,'
                '"peak_bytes":134217728,"minor_faults":1000,"major_faults":0,"superpages_peak":32,'
                '"live_bytes_peak":100000000,"directives":[{"site":"' + SITE + '","context":null,"taken":true,'
                '"superpages_predicted":32,"superpages_peak":32,"live_bytes_peak":67108864,"verdict":"held"}]}\n'
            )
            self.reports += 1
        for program, text in lines.items():
            (self.runs / f"{program}.jsonl").write_text("".join(text), encoding="ascii")

    def command(self):
        started = time.monotonic()
        done = call([self.options.smalloc, *self.options.command, "--db", self.location], self.state)
        self.seconds.append(time.monotonic() - started)
        self.commands += 1
        if done.returncode:
            self.errors.append(done.stderr.strip())

    def run(self):
        while time.monotonic() < self.until:
            self.write_reports(self.options.reports_of_command)
            self.command()


def processor_seconds():
    """Returns the processor time of this process and of the children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure_smalloc(server, options, programs):
    """Returns the rate of the reporters, and how many reports were lost or doubled."""
    location = server.location("fleet")
    first_id = int(server.sql("fleet", "SELECT coalesce(max(id), 0) FROM smalloc.runs"))
    counted = int(server.sql("fleet", "SELECT sum(validated) FROM smalloc.directives"))
    started, processor = time.monotonic(), processor_seconds()
    reporters = [
        Reporter(n, options, location, programs, started + options.seconds) for n in range(options.reporters)
    ]
    for reporter in reporters:
        reporter.start()
    for reporter in reporters:
        reporter.join()
    elapsed, processor = time.monotonic() - started, processor_seconds() - processor
    stored = int(server.sql("fleet", f"SELECT count(*) FROM smalloc.runs WHERE id > {first_id}"))
    errors = [error for reporter in reporters for error in reporter.errors]
    for reporter in reporters:  # what commands that failed have left
        if reporter.errors:
            reporter.command()
    written = sum(reporter.reports for reporter in reporters)
    # Each reporter's starts are consecutive numbers, so that the sums tell another set.
    rows = server.sql(
        "fleet",
        "SELECT host, count(*), count(DISTINCT started_ns), min(started_ns), max(started_ns) FROM smalloc.runs "
        f"JOIN smalloc.validations ON run = id WHERE id > {first_id} GROUP BY host",
    ).split()
    lost = doubled = 0
    found = {row.split("|")[0]: [int(word) for word in row.split("|")[1:]] for row in rows}
    for reporter in reporters:
        count, distinct, low, high = found.get(f"reporter{reporter.number}", (0, 0, START_NS, START_NS - 1))
        inside = low >= START_NS and high < START_NS + reporter.reports
        lost += reporter.reports - distinct if inside else reporter.reports
        doubled += count - distinct
    counted = int(server.sql("fleet", "SELECT sum(validated) FROM smalloc.directives")) - counted
    doubled += max(0, counted - written)
    lost += max(0, written - counted) if lost == 0 else 0
    seconds = [one for reporter in reporters for one in reporter.seconds]
    return {
        "first_id": first_id,
        "reports": stored,
        "seconds": elapsed,
        "reports_per_second": stored / elapsed,
        "commands": len(seconds),
        "command_median_seconds": statistics.median(seconds),
        "client_processor_ms_per_command": 1000 * processor / len(seconds),
        "failed_commands": len(errors),
        "first_error": errors[0] if errors else None,
        "lost": lost,
        "doubled": doubled,
    }


def measure_copy(server, first_id):
    """Returns the rate at which psql copies the stored rows, as those of other hosts."""
    shift = 10**12

    def rows_of(query):
        return server.sql("fleet", f"\\copy ({query}) TO STDOUT")

    columns = RUN_COLUMNS.replace("id, ", f"id + {shift}, ", 1).replace(" host,", " 'copy' || host,")
    runs = rows_of(f"SELECT {columns} FROM smalloc.runs WHERE id > {first_id} AND id < {shift}")
    columns = VALIDATION_COLUMNS.replace("run, ", f"run + {shift}, ", 1)
    validations = rows_of(f"SELECT {columns} FROM smalloc.validations WHERE run > {first_id} AND run < {shift}")
    count = runs.count("\n")
    text = (
        f"BEGIN;\n\\copy smalloc.runs ({RUN_COLUMNS}) FROM STDIN\n{runs}\\.\n"
        f"\\copy smalloc.validations ({VALIDATION_COLUMNS}) FROM STDIN\n{validations}\\.\nCOMMIT;\n"
    )
    started = time.monotonic()
    server.sql("fleet", text)
    seconds = time.monotonic() - started
    return {"reports": count, "seconds": seconds, "reports_per_second": count / seconds}


def measure_pgbench(server, options, batch, protocol):
    """Returns the rate at which pgbench inserts rows of reports, `batch` of them a transaction. Its
    time does not include that of the connections."""
    # One statement a report, with its two rows. Programs are there; host, process and time are new.
    insert = f"""\\set p random(1, {options.programs - 1})
\\set n random(1, 1000000000000000)
WITH run AS (INSERT INTO smalloc.runs ({RUN_COLUMNS.removeprefix("id, ")}) VALUES (lpad(to_hex(:p::int), 40, '0'),
 'bench' || :client_id::int, :client_id, :n, 'superpages', '', 1.0, 0.9, 0.1, 134217728, 1000, 0, 'other-input', 32,
 100000000) RETURNING id)
INSERT INTO smalloc.validations SELECT id, '{SITE}', '', 1, 32, 32, 67108864, 'held' FROM run;
"""
    script = server.folder / f"insert{batch}.sql"
    script.write_text(f"BEGIN;\n{insert * batch}COMMIT;\n" if batch > 1 else insert, encoding="ascii")
    text = server.run(
        "pgbench", "-h", server.folder, "-U", "tester", "-n", "-c", options.reporters, "-j", os.cpu_count(), "-M",
        protocol, "-T", options.seconds, "-f", script, "fleet",
    )  # fmt: skip
    rate = float(re.search(r"^tps = ([\d.]+)", text, re.M)[1]) * batch
    count = int(re.search(r"processed: (\d+)", text)[1]) * batch
    return {"reports": count, "reports_per_second": rate}


def measure_apply(server, options, databases):
    """Returns the median time of `smalloc apply -- PROGRAM` with each history, in turns."""
    state = options.folder / "apply"
    state.mkdir()
    seconds = {database: [] for database in databases}
    for turn in range(options.apply_runs + 1):
        for database in databases:
            command = [options.smalloc, "apply", "-q", "--db", server.location(database), "--", PROGRAM]
            started = time.monotonic()
            done = call(command, state)
            if done.returncode:
                raise RuntimeError(f"smalloc apply: {done.stderr.strip()[-500:]}")
            if turn:  # the first one fills caches
                seconds[database].append(time.monotonic() - started)
    return {database: statistics.median(list_) for database, list_ in seconds.items()}


def measure(options):
    result = {"reports": options.reports, "hosts": options.hosts, "programs": options.programs,
              "reporters": options.reporters, "reports_of_command": options.reports_of_command,
              "command": " ".join(options.command), "cpus": os.cpu_count()}  # fmt: skip
    server = Server(options.folder / "server", options.reporters, not options.no_fsync)
    try:
        state = options.folder / "setup"
        started = time.monotonic()
        make_history(server, "fleet", options.smalloc, state)
        fill(server, "fleet", options.programs, options.reports, options.hosts)
        result["fill_seconds"] = time.monotonic() - started
        say(options, f"filled: {options.reports} reports in {result['fill_seconds']:.0f} s")
        programs = [f"{number:040x}" for number in range(1, options.programs)]
        result["smalloc"] = measure_smalloc(server, options, programs)
        say(options, rate_text("smalloc", result["smalloc"]))
        result["copy"] = measure_copy(server, result["smalloc"]["first_id"])
        say(options, rate_text("\\copy", result["copy"]))
        batch = options.reports_of_command
        result["pgbench"] = measure_pgbench(server, options, batch, "extended")
        say(options, rate_text(f"pgbench, {batch} a transaction", result["pgbench"]))
        result["pgbench_single"] = measure_pgbench(server, options, 1, "prepared")
        say(options, rate_text("pgbench, 1 a transaction", result["pgbench_single"]))
        sizes = [int(word) for word in options.apply_programs.split(",")]
        for size in sizes:
            make_history(server, f"programs{size}", options.smalloc, state)
            fill(server, f"programs{size}", size, 5 * size, 10)
        names = [f"programs{size}" for size in sizes] + ["fleet"]
        result["apply_seconds"] = measure_apply(server, options, names)
    finally:
        server.stop()
    return result


def say(options, text):
    if not options.quiet:
        print(text, file=sys.stderr)


def rate_text(name, numbers):
    return f"{name}: {numbers['reports_per_second']:.0f} reports/s"


def text_of(result):
    ours = result["smalloc"]
    lines = [
        f"history of {result['reports']} reports, {result['hosts']} hosts, {result['programs']} programs; "
        f"{result['cpus']} CPUs",
        f"{result['reporters']} reporters run `smalloc {result['command']}` after each {result['reports_of_command']} "
        f"reports: {ours['commands']} commands, median {ours['command_median_seconds']:.2f} s, "
        f"{ours['failed_commands']} failed",
    ]
    for key, name in (
        ("smalloc", "smalloc"),
        ("copy", "psql \\copy"),
        ("pgbench", f"pgbench, {result['reports_of_command']} reports a transaction"),
        ("pgbench_single", "pgbench, 1 report a transaction"),
    ):
        rate = result[key]["reports_per_second"]
        lines.append(f"{name:40} {rate:10.0f} reports/s   smalloc is {ours['reports_per_second'] / rate:.2f} of it")
    lines.append(f"lost {ours['lost']}, doubled {ours['doubled']}")
    least = next(iter(result["apply_seconds"].values()))
    for name, seconds in result["apply_seconds"].items():
        lines.append(f"smalloc apply, history {name:24} {1000 * seconds:8.1f} ms   {seconds / least:.2f} of the first")
    if ours["first_error"]:
        lines.append(f"first error: {ours['first_error']}")
    return "\n".join(lines)


def positive(text):
    number = int(text.replace(",", ""))
    if number <= 0:
        raise ValueError
    return number


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add = parser.add_argument
    add("--build", type=Path, default=ROOT / "build", metavar="DIR", help="build tree (build)")
    add("--reports", type=positive, default=5_000_000, metavar="N", help="reports that the history has before (5,000,000)")
    add("--hosts", type=positive, default=10_000, metavar="N", help="hosts that these are of (10,000)")
    add("--programs", type=positive, default=500, metavar="N", help="programs that these are of (500)")
    add("--reporters", type=positive, default=200, metavar="N", help="hosts that report at a time (200)")
    add("--seconds", type=positive, default=60, metavar="N", help="time of each measurement (60)")
    add("--reports-of-command", type=positive, default=100, metavar="N", help="reports that a command takes in (100)")
    add("--programs-of-host", type=positive, default=10, metavar="N", help="programs that a reporter runs (10)")
    add("--command", default="db import", metavar="WORDS", help="what a reporter runs ('db import')")
    add("--apply-programs", default="10,100000", metavar="N,N", help="sizes of the histories for apply (10,100000)")
    add("--apply-runs", type=positive, default=20, metavar="N", help="runs of smalloc apply with each history (20)")
    add("--no-fsync", action="store_true", help="let the server not wait for the disk")
    add("--folder", type=Path, metavar="DIR", help="where the server's data lies meanwhile (a temporary folder)")
    add("--json", type=Path, metavar="FILE", help="write the numbers there as well")
    add("-q", "--quiet", action="store_true", help="print the results only")
    options = parser.parse_args(arguments)
    options.command = options.command.split()
    options.smalloc = options.build.resolve() / "bin" / "smalloc"
    if not options.smalloc.exists():
        raise UsageError(f"--build ({options.build})", "no bin/smalloc there",
                         "cmake --preset release && cmake --build build --target smalloc_cli")  # fmt: skip
    if options.programs < 2:
        raise UsageError("--programs", "one is the program that apply starts", "--programs 2")
    if not all(word.isdigit() and int(word) > 0 for word in options.apply_programs.split(",")):
        raise UsageError(f"--apply-programs {options.apply_programs}", "it is no list of numbers", "--apply-programs 10,1000")
    return options


def main():
    try:
        options = parse(sys.argv[1:])
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        with tempfile.TemporaryDirectory(prefix="fleet.", dir=options.folder) as folder:
            options.folder = Path(folder)
            options.folder.chmod(0o755)
            (options.folder / "server").mkdir()
            result = measure(options)
    except UsageError as error:
        print(f"fleet.py: error: {error.where}: {error.why}\nhint: {error.cure}", file=sys.stderr)
        return 2
    except (RuntimeError, OSError) as error:
        print(f"fleet.py: error: {error}", file=sys.stderr)
        return 1
    print(text_of(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="ascii")
    ours = result["smalloc"]
    return int(bool(ours["lost"] or ours["doubled"] or ours["failed_commands"]))


if __name__ == "__main__":
    sys.exit(main())
