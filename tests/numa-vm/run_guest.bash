#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run_guest.bash: starts a guest for the tests: one boot with the given number of nodes, in which
# guest.bash runs. Then it checks the counts of the monitor in QEMU, which programs in the guest
# cannot influence. SMALLOC_TEST_LONG=1: all checks, not only the core.
set -euo pipefail
nodes=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SMALLOC_BUILD:?}"
scratch=$(mktemp -d /tmp/numa-vm-test.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
unset SMALLOC_CONF LD_PRELOAD GLIBC_TUNABLES MALLOC_CONF

status=0
timeout 200 "$here/numa-vm" --setup >"$scratch/setup" 2>&1 || status=$?
[ $status = 0 ] || cat "$scratch/setup"
case $status in
0) ;;
124 | 125) echo "SKIP: QEMU or its kernel cannot be had here: $(tail -1 "$scratch/setup")" && exit 77 ;;
*) echo "numa-vm --setup ended with status $status" && exit 1 ;;
esac
[ -x "$SMALLOC_BUILD/tests/numa_walker" ] || { echo "numa_walker is not built"; exit 1; }
# Programs with sites, for hints at first touch: compiled here, run there.
cc=$SMALLOC_BUILD/bin/smalloc-cc
if [ -e "$SMALLOC_BUILD/lib/SmallocPlugin.so" ]; then
  "$cc" -O2 -fplugin-arg-smalloc-rewrite=all -o "$scratch/placed" "$here/placed.c"
  "$cc" -O2 -fopenmp=libomp -fplugin-arg-smalloc-machine=zen3 -fplugin-arg-smalloc-numa=hints -DDIVIDED -o "$scratch/divided" "$here/placed.c"
  "$SMALLOC_BUILD/bin/smalloc" sites "$scratch/placed" --json >"$scratch/sites.json"
  "$cc" -O2 -pthread -fplugin-arg-smalloc-rewrite=all -o "$scratch/small" "$here/small.c"
  "$SMALLOC_BUILD/bin/smalloc" sites "$scratch/small" --json >"$scratch/small.json"
fi
hugepages=0
[ "$nodes" != 2 ] || hugepages=16
scope=core
[ "${SMALLOC_TEST_LONG:-}" != 1 ] || scope=long
# Repeats once if the guest's kernel or QEMU crashed: no code of smalloc runs there that could cause
# it (walker.c, hold()).
for attempt in 1 2; do
  status=0
  "$here/numa-vm" --nodes "$nodes" --distance 25 --mem 512 --hugepages "$hugepages" --timeout 900 --monitor "$scratch/monitor" -- \
    bash "$here/guest.bash" "$nodes" "$SMALLOC_BUILD" "$scratch" "$scope" || status=$?
  [ "$status" = 125 ] || break
  echo "attempt $attempt: the guest died"
done
[ ! -e "$scratch/monitor" ] || cat "$scratch/monitor"
[ "$status" = 0 ] || { echo "the guest's tests ended with status $status"; exit 1; }
# Misses to memory of another node. The first program that marks phases runs without migration. Its
# remote accesses must become local in the last phase (2) of the programs that follow.
python3 - "$scratch/monitor" <<'PYTHON'
import json, sys
shares = []
for line in open(sys.argv[1]):
    phase = json.loads(line)
    total = phase["misses_local"] + phase["misses_remote"]
    assert phase["not_attributed"] == 0, f"accesses that the monitor could not attribute: {phase}"
    assert total > 10000, f"the monitor saw too little: {phase}"
    shares.append((phase["phase"], phase["misses_remote"] / total))
assert [phase for phase, _ in shares[:2]] == [1, 2], f"the phases of the first program: {shares}"
before = min(share for _, share in shares[:2])
after = [share for phase, share in shares[2:] if phase == 2]
print(f"monitor: remote misses {100 * before:.1f} % without migration, with it " + ", ".join(f"{100 * s:.1f} %" for s in after))
assert before > 0.8, "the program was to use remote memory"
assert len(after) == 2, "two programs with migration were to be seen"
assert max(after) < before / 4, "migration was to bring the memory near"
PYTHON
