# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Options of smalloc numa simulate: the placement of threads, how long a moved page stays and how
# soon it must pay, how often a TLB is sampled, and its size.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$SMALLOC_BUILD/lib/libsmalloc_numa_recorder.so" ] || skip "omp-tools.h was not found: no recorder"
export OMP_NUM_THREADS=12 OMP_WAIT_POLICY=passive
"$SMALLOC_SOURCE/scripts/numa-kernel" "$SMALLOC_SOURCE/benchmarks/numa/mg.c" mg "$SMALLOC_BUILD/lib"
SMALLOC_NUMA_TRACE=serial.trace expect_status 0 timeout 120 ./mg 32 6
SMALLOC_NUMA_TRACE=parallel.trace expect_status 0 timeout 120 ./mg 32 6 parallel
simulate() { # JSON TRACE OPTIONS...
  expect_status 0 timeout 120 "$SMALLOC" numa simulate "$2" --machine sun-fire-6800 --shrink 64 --sample 4 --json -q -o "$1" "${@:3}"
}
simulate default.json serial.trace
simulate soon.json serial.trace --horizon 1
simulate seldom.json serial.trace --content 1000000
simulate large.json serial.trace --tlb-shrink 1
simulate compact.json parallel.trace --bind compact
simulate scatter.json parallel.trace --bind scatter
simulate moves.json serial.trace --policy paper --freeze 0
simulate stays.json serial.trace --policy paper --freeze 3
python3 - <<'PY' || fail "an option does not what it says"
import json
def of(name):
    d = json.load(open(f"{name}.json"))
    return d, {s["name"]: s for s in d["schemes"]}
def moved(name, source):
    return of(name)[1][source]["moved_base_pages"]
# If a move must pay within one interval, there are hardly any moves; a TLB that is never sampled
# yields no counts.
assert moved("soon", "cache-misses") < moved("default", "cache-misses") > 0
assert moved("seldom", "tlb-content") == 0 < moved("default", "tlb-content")
assert moved("seldom", "cache-misses") == moved("default", "cache-misses")
# Only the TLB becomes larger; the caches stay.
(small, _), (large, _) = of("default"), of("large")
assert large["machine"]["tlb_entries"] == 64 * small["machine"]["tlb_entries"] and large["tlb_misses"] < small["tlb_misses"]
assert large["machine"]["l2_bytes"] == small["machine"]["l2_bytes"] and large["transactions"] == small["transactions"]
# Neighbouring threads of a grid share pages: on one node these pages are local.
assert of("scatter")[1]["first-touch"]["remote_percent"] > of("compact")[1]["first-touch"]["remote_percent"] + 5
# Pages that must stay do not move back and forth.
assert moved("stays", "cache-misses") < moved("moves", "cache-misses")
PY
expect_error 2 'freeze: Value 4 not in range (0 to 3|\[0 - 3\])' "$SMALLOC" numa simulate serial.trace --freeze 4
expect_error 2 'bind: ' "$SMALLOC" numa simulate serial.trace --bind near
