# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A figure is a module of this folder, or of own/ (smalloc's own). It declares

  NAME      of its files and of --figure
  SECTION   one of SECTIONS
  TITLE     one line
  SOURCE    the paper, and its figure's or table's number
  CAPTION   what was measured and how; misses of the exact TLB simulator are called that
  SIZE      optional: width and height in inches

and has

  trials(mode)          yields (key, function); function(lab) returns numbers that JSON can hold. Rounds of one
                        measurement end in /round-1, /round-2 ..., and are yielded round by round, so that each
                        round meets the same machine. Equal keys of two figures are one trial.
  rows(results, mode)   returns the numbers of the picture, a dictionary a row; results has numbers by key
  draw(drawing, rows)   draws them into a matplotlib figure
  says(rows)            returns what they show in two plain sentences, and where smalloc is behind a further one
"""

import importlib
import pkgutil

from evaluation.usage_error import UsageError

SECTIONS = (
    "Magee and Qasem 2009",
    "Cascaval et al. 2005",
    "Korn and Chang 2007",
    "Gorman 2010",
    "Tikir and Hollingsworth 2008",
    "smalloc's own",
)


def select(names):
    """The named figures, or all, in the order of the index page."""
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(__path__, "figures.") if not m.ispkg]
    every = sorted(modules, key=lambda m: (SECTIONS.index(m.SECTION), m.__name__))
    known = {m.NAME: m for m in every}
    for name in names or []:
        if name not in known:
            raise UsageError(f"--figure ({name})", "no such figure", "benchmarks/run --list")
    return [m for m in every if not names or m.NAME in names]
