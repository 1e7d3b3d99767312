# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""provenance.py finds what a trial depends on: the commit, the build, the machine, the versions."""

import hashlib
import json
import os
import subprocess

import bench
import bench_runs
from evaluation.lab import ROOT


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def changes():
    """The text of what differs from the commit, documentation aside: a page changes no result."""
    paths = ["--", ".", ":!docs", ":!*.md"]
    texts = [
        subprocess.run(["git", *words, *paths], capture_output=True, check=False, cwd=ROOT).stdout
        for words in (["diff", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    ]
    return b"".join(texts)


class Provenance:
    def __init__(self, lab):
        changed = changes()
        self.commit = first_line(["git", "rev-parse", "HEAD"]) or "no commit"
        self.dirty = bool(changed)
        if changed:  # two states of a changed tree are two commits as far as trials go
            self.commit += "-" + hashlib.sha256(changed).hexdigest()[:12]
        digest = hashlib.sha256()
        for file in (lab.smalloc, lab.plugin, lab.library):
            digest.update(file.read_bytes())
        self.build = digest.hexdigest()[:16]
        self.machine = json.dumps(
            {**bench_runs.machine(), "page_bytes": os.sysconf("SC_PAGE_SIZE"), "tlb_preset": lab.preset["name"]},
            sort_keys=True,
        )
        peers = [
            title
            for key, (title, _, _) in bench.configurations(lab.build, lab.peers).items()
            if key in ("jemalloc", "mimalloc", "tcmalloc")
        ]
        self.versions = json.dumps(
            {
                "clang": first_line([lab.clang, "--version"]),
                "smalloc": first_line([lab.smalloc, "--version"]),
                "glibc": " ".join(os.confstr("CS_GNU_LIBC_VERSION").split()),
                "peers": peers,
            },
            sort_keys=True,
        )
