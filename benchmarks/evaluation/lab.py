# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lab.py has what trials need: the built tree, compiled programs, runs, and exact TLB simulations."""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import bench
import bench_runs
import evaluate
from evaluation.usage_error import UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
COVERAGE = [
    "-fno-omit-frame-pointer",
    "-mno-omit-leaf-frame-pointer",
    "-mllvm",
    "-disable-loop-idiom-all",
    "-fsanitize-coverage=func,trace-loads,trace-stores",
]
BASE_PAGES = "base"  # glibc, and no superpage whatever asks for one


class Lab:
    def __init__(self, build, output, mode):
        self.build, self.output, self.mode = build.resolve(), output.resolve(), mode
        self.smalloc, self.plugin = self.build / "bin" / "smalloc", self.build / "lib" / "SmallocPlugin.so"
        self.library = self.build / "lib" / "libsmalloc.so"
        for file in (self.smalloc, self.plugin, self.library):
            if not file.exists():
                raise UsageError(
                    f"--build ({build})",
                    f"no {file.relative_to(self.build)} there",
                    "scripts/demo, or: cmake --preset release && cmake --build build --target installed",
                )
        self.clang, self.symbolizer = os.environ.get("CLANG", "clang-22"), "llvm-symbolizer-22"
        for tool in (self.clang, self.symbolizer):
            if not shutil.which(tool):
                raise UsageError(tool, "not found", "scripts/install-packages --set demo")
        peers = self.build / "bench" / "peers"
        self.peers = peers if (peers / "libjemalloc.so.2").exists() and (peers / "libmimalloc.so.3").exists() else None
        self.known, self.warm_bytes = {}, {}  # numbers of the trials so far; memory that runs of a program need
        self.programs = self.output / "programs"
        self.programs.mkdir(parents=True, exist_ok=True)
        self.preset = self.machine(None)
        self.configurations = bench.configurations(self.build, self.peers)

    # --- the command

    def call(self, command, folder=None, **environment):
        """Runs a command to its end; returns it with its output. An error has the last lines of
        what it wrote."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder or self.programs,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(map(str, command))}: exit status {done.returncode}: {done.stderr.strip()[-1000:]}"
            )
        return done

    def machine(self, name):
        """A machine profile: this machine's preset, or the named one."""
        done = subprocess.run(
            [self.smalloc, "machine", "show", *([name] if name else []), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UsageError(
                f"machine profile ({name or 'this machine'})", done.stderr.strip()[-300:], "smalloc machine list"
            )
        return json.loads(done.stdout)

    @contextmanager
    def folder(self):
        with tempfile.TemporaryDirectory(dir=self.output) as path:
            yield Path(path)

    # --- programs

    def compile(self, name, command, sources):
        """Compiles a program unless it is newer than its sources and the build; returns its
        path."""
        out = self.programs / name
        newest = max(path.stat().st_mtime for path in [*sources, self.plugin, self.library])
        if not out.exists() or out.stat().st_mtime < newest:
            out.parent.mkdir(parents=True, exist_ok=True)
            unfinished = out.with_name(f"{out.name}.part")
            self.call([*command, "-o", unfinished])
            unfinished.rename(out)
        return out

    def compile_exact(self, source, defines=()):
        """Compiles a kernel so that each load and store goes through the exact TLBs of
        exact_mappings.c; defines are NAME=VALUE. Raises RuntimeError if the compiler fails."""
        source = ROOT / "benchmarks" / source
        exact = ROOT / "benchmarks" / "evaluation" / "exact_mappings.c"
        helper = self.compile("exact_mappings.o", [self.clang, "-O2", "-fno-omit-frame-pointer", "-c", exact], [exact])
        driver = [self.clang, "--driver-mode=g++"] if source.suffix == ".cpp" else [self.clang]
        options = [*evaluate.FLAGS, "-g", *COVERAGE, *(f"-D{word}" for word in defines)]
        name = "-".join([source.stem, *defines])
        return self.compile(f"exact/{name}", [*driver, *options, source, helper, "-lm"], [source, exact])

    def compile_bench(self, program, variant):
        """Compiles a program of benchmarks/suite.json as scripts/bench.py does; returns the command
        without arguments."""
        source = ROOT / "benchmarks" / program["source"]
        out = self.programs / variant / program["name"]
        if not out.exists() or out.stat().st_mtime < max(source.stat().st_mtime, self.plugin.stat().st_mtime):
            bench.compile_program(program, variant, self.build, self.programs)
        return [str(out)]

    # --- trials

    def tlb_of(self, name=None):
        """The last-level TLB of a machine profile, as exact_mappings.c wants it."""
        return evaluate.Costs(self.machine(name) if name else self.preset).tlb

    def exact_misses(self, source, arguments, tlb, defines=()):
        """Returns the misses of a run in an exact TLB: everything on base pages, everything on
        superpages."""
        program = self.compile_exact(source, defines)
        done = self.call([program, *arguments], TLB=tlb, SITES="0:0")
        report = json.loads(done.stderr.splitlines()[-1])
        base, superpages = report["lanes"][0], report["lanes"][-1]
        return {
            "accesses": report["accesses"],
            "base_misses": base["base_misses"] + base["super_misses"],
            "superpage_misses": superpages["base_misses"] + superpages["super_misses"],
            "base_pages": base["base_pages"],
            "superpages": superpages["super_pages"],
        }

    def run_program(self, program, arguments, configuration, **environment):
        """Runs a program of the suite once in a configuration of scripts/bench.py, on prepared
        memory; returns times, peak memory, superpages, faults. A run whose configuration did not
        take effect says so (in_effect)."""
        _, variant, extra = self.configurations[configuration]
        command = self.compile_bench(program, variant) + [str(word) for word in arguments]
        result = bench_runs.run_checked(
            command,
            configuration,
            {**extra, **environment},
            argparse.Namespace(cpu=None),
            program,
            self.warm_bytes.get(program["name"], 0),
        )
        needed = min(result["peak_rss_bytes"] * 3 // 2, bench_runs.machine()["memory_bytes"] // 2)
        self.warm_bytes[program["name"]] = max(needed, self.warm_bytes.get(program["name"], 0))
        return result
