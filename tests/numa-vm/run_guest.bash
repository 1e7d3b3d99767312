#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run_guest.bash decides how a guest is started for the tests: one boot with so many nodes, everything in guest.bash, and what the
# monitor in QEMU counted, which nobody in the guest can influence. SMALLOC_TEST_LONG=1: all checks, not the core of them.
set -euo pipefail
nodes=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SMALLOC_BUILD:?}"
scratch=$(mktemp -d /tmp/numa-vm-test.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
unset SMALLOC_CONF LD_PRELOAD GLIBC_TUNABLES MALLOC_CONF

if ! timeout 200 "$here/numa-vm" --setup >"$scratch/setup" 2>&1; then
  cat "$scratch/setup"
  echo "SKIP: QEMU or its kernel cannot be had here: $(tail -1 "$scratch/setup")"
  exit 77
fi
[ -x "$SMALLOC_BUILD/tests/numa_walker" ] || { echo "numa_walker is not built"; exit 1; }
# Programs with sites, for hints at birth: compiled here, run there.
cc=$SMALLOC_BUILD/bin/smalloc-cc
if [ -e "$SMALLOC_BUILD/lib/SmallocPlugin.so" ]; then
  "$cc" -O2 -fplugin-arg-smalloc-rewrite=all -o "$scratch/placed" "$here/placed.c"
  "$cc" -O2 -fopenmp=libomp -fplugin-arg-smalloc-numa=hints -DDIVIDED -o "$scratch/divided" "$here/placed.c"
  "$SMALLOC_BUILD/bin/smalloc" sites "$scratch/placed" --json >"$scratch/sites.json"
fi
hugepages=0
[ "$nodes" != 2 ] || hugepages=16
scope=core
[ "${SMALLOC_TEST_LONG:-}" != 1 ] || scope=long
status=0
"$here/numa-vm" --nodes "$nodes" --distance 25 --mem 512 --hugepages "$hugepages" --timeout 900 --monitor "$scratch/monitor" -- \
  bash "$here/guest.bash" "$nodes" "$SMALLOC_BUILD" "$scratch" "$scope" || status=$?
[ ! -e "$scratch/monitor" ] || cat "$scratch/monitor"
[ "$status" = 0 ] || { echo "the guest's tests ended with status $status"; exit 1; }
# Phase 1: before anything could move; phase 2: afterwards. Misses by memory that is not the processor's own.
python3 - "$scratch/monitor" <<'PYTHON'
import json, sys
before = after = None
for line in open(sys.argv[1]):
    phase = json.loads(line)
    total = phase["misses_local"] + phase["misses_remote"]
    assert phase["not_attributed"] == 0, f"accesses that the monitor could not attribute: {phase}"
    assert total > 10000, f"the monitor saw too little: {phase}"
    share = phase["misses_remote"] / total
    if phase["phase"] == 1:
        before = share
    elif phase["phase"] == 2:
        print(f"monitor: remote misses {100 * before:.1f} % before, {100 * share:.1f} % after")
        assert before > 0.6, "the program was to use remote memory before anything moved"
        assert share < before / 4, "migration was to bring the memory near"
        after = share
assert after is not None, "no phase was seen"
PYTHON
