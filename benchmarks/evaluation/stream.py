# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stream.py has the trials of the figures after Gorman: STREAM on memory from malloc, and the cost of a miss."""

import argparse
import json
import re
import subprocess

import bench
import bench_runs

SECTION = "Gorman 2010"
MIB = {"quick": 512, "full": 1024}
KERNELS = ("copy", "scale", "add", "triad")
FIRST_WORKING_SET, STEP = 13631488, 3932160  # of smalloc calibrate --tlbmiss-cost, as in libhugetlbfs' script
TITLES = {
    "base": "glibc, base pages",
    "thp": "glibc, hugetlb=1",
    "preload": "smalloc run",
    "preload-superpage": "smalloc, everything on superpages",
    "libhugetlbfs": "libhugetlbfs (hugectl --thp)",
}

# Gorman, PowerPC 970MP, 16 MiB pages. STREAM: predicted share, seconds without and with superpages,
# MB/s of each function.
PAPER_PREDICTED = 17.84
PAPER_SECONDS = (13.69, 11.95)
PAPER_RATES = {
    "copy": (2783.1461, 3127.4279),
    "scale": (2841.6449, 3116.6594),
    "add": (3080.5153, 3596.7276),
    "triad": (3077.4167, 3604.6241),
}
# Cycles of a miss: by a micro-benchmark on two machines, by the PMU on the third.
PAPER_COSTS = {"Core Duo T2600, micro-benchmark": 19, "Athlon 64 3000+, micro-benchmark": 37, "PowerPC 970MP, PMU": 563}


def predict(lab):
    """Prediction and measurement of the built-in STREAM."""
    command = [
        lab.smalloc,
        "study",
        "-q",
        "--stream",
        "--stream-mib",
        MIB[lab.mode],
        "--predict",
        "--verify",
        "-r",
        3 if lab.mode == "quick" else 7,
        "--json",
    ]
    report = json.loads(lab.call(command).stdout)
    results = {
        r["configuration"]: {k: r[k] for k in ("user_seconds", "system_seconds", "page_faults", "runs", "seconds")}
        for r in report["commands"][0]["results"]
    }
    return {"prediction": report["predictions"][0], "results": results, "no_events": report["no_events"]}


def environment_of(configuration, lab):
    """None if the system does not have it."""
    if configuration == "libhugetlbfs":  # what hugectl --thp sets, without that program
        library = bench.find_library("libhugetlbfs")
        return library and {"LD_PRELOAD": library, "HUGETLB_MORECORE": "thp"}
    return lab.configurations[configuration][2] if configuration in lab.configurations else None


def rates(configuration, lab):
    """The best rate of each function in one run."""
    extra = environment_of(configuration, lab)
    if extra is None:
        return {"missing": True}
    with lab.folder() as folder:
        out = folder / "stream.json"
        command = [str(lab.smalloc), "stream", "--mib", str(MIB[lab.mode]), "--json", "-o", str(out)]
        if configuration == "base":
            run = bench_runs.run_once(command, extra, None, base_pages=True)
        else:
            # Superpages whose memory the host has: three arrays, and half as much again.
            needed = (MIB[lab.mode] << 20) * 3 // 2
            run = bench_runs.run_checked(command, configuration, extra, argparse.Namespace(cpu=None), {}, needed)
        report = json.loads(out.read_text(encoding="utf-8"))
    return {
        "superpages": run["superpages"],
        "user_seconds": run["user_seconds"],
        "system_seconds": run["system_seconds"],
        "rates": {k["name"]: k["bytes_per_second"] for k in report["kernels"]},
    }


def micro_benchmark(lab):
    """The series of working sets that libhugetlbfs' script would measure, by pointer chases. On a busy machine the
    command ends with an error after the largest one, and the series has no result."""
    done = subprocess.run(
        [lab.smalloc, "calibrate", "--tlbmiss-cost", "-v"], capture_output=True, text=True, check=False
    )
    if done.returncode and "no steady TLB miss latency" not in done.stderr:
        raise RuntimeError(f"smalloc calibrate --tlbmiss-cost: {done.stderr.strip()[-300:]}")
    cycles = [int(c) for c in re.findall(r"Measured TLB Latency (\d+) cycles", done.stderr)]
    result = re.search(r"^TLB_MISS_COST=(\d+)", done.stdout, re.M)
    return {
        "series": [{"bytes": FIRST_WORKING_SET + i * STEP, "cycles": c} for i, c in enumerate(cycles)],
        "cycles": int(result[1]) if result else None,
    }


def calibrated(lab):
    """The walk costs of a calibration, and what the PMU counts."""
    with lab.folder() as folder:
        quick = ["--quick"] if lab.mode == "quick" else []
        report = json.loads(
            lab.call([lab.smalloc, "calibrate", "-q", *quick, "--json", "--profile", folder / "machine.json"]).stdout
        )
    profile = report["profile"]
    return {
        "noisy": report["noisy"],
        "pmu": report["pmu"],
        **{
            what: [{"pages": c["pages"], **c["cycles"]} for c in profile[what] if c["page_bytes"] == 4096]
            for what in ("walk_cost", "overlapped_walk_cost")
        },
    }


def preset(lab):
    return {
        "name": lab.preset["name"],
        "walk_cost": [
            {"pages": c["pages"], "cycles": c["cycles"]["value"]}
            for c in lab.preset["walk_cost"]
            if c["page_bytes"] == 4096 and c["cycles"]["value"]
        ],
    }
