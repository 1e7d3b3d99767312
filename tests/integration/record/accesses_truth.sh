#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The accesses of an instrumented program are correct. At rate 1 the misses that smalloc analyze
# counts in its trace equal those of an exact simulation of every load and store, for streams,
# gathers, lists, trees and hash tables. At a lower rate they are close.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
"$CLANG" -O2 -c "$SMALLOC_SOURCE/tests/integration/fixtures/exact_tlb.c" -o exact_tlb.o
machine() { # ENTRIES: fully associative, so that the analysis counts plain LRU misses
  cat >"m$1.json" <<JSON
{"schema": "smalloc.machine/1", "name": "m$1", "frequency_hz": 1e9, "reach_pages": $1,
 "tlb": [{"level": 1, "page_bytes": [4096, 2097152], "entries": $1, "ways": 0}],
 "walk_cost": [{"page_bytes": 4096, "pages": 1000, "cycles": 50}]}
JSON
}
# recorded TRACE ENTRIES: prints the misses with all on base pages.
recorded() {
  "$SMALLOC" analyze "$1" --machine "./m$2.json" --json -q >analysis.json 2>err || fail "analyze: $(cat err)"
  python3 -c 'import json; print(json.load(open("analysis.json"))["mappings"][0]["tlb_misses_base"])'
}
near() { # GOT WANT SHARE SLACK WHAT
  python3 -c 'import sys; g, w, s, k = map(float, sys.argv[1:5]); sys.exit(abs(g - w) > s * w + k)' "$1" "$2" "$3" "$4" ||
    fail "$5: $1 misses recorded, $2 in truth"
  echo "$5: $1 misses recorded, $2 in truth"
}
# The same code on both sides: vector accesses of more than 16 bytes have no callback, so they are
# avoided; loops must not become memset either.
flags=(-O2 -fno-vectorize -fno-slp-vectorize -mllvm -disable-loop-idiom-all)
compare() { # KERNEL SHARE ARGUMENT...
  local kernel=$1 share=$2 source=$SMALLOC_SOURCE/benchmarks/kernels/$1.c entries
  shift 2
  quietly "$CLANG" "${flags[@]}" -fsanitize-coverage=func,trace-loads,trace-stores "$source" exact_tlb.o -lm -o "$kernel.exact"
  quietly "$CLANG" "${flags[@]}" -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate "$source" -lm -o "$kernel"
  "./$kernel" "$@" >want
  "$SMALLOC" record -q --rate 1 -o "$kernel.trace" -- "./$kernel" "$@" >out 2>err || fail "$kernel: $(cat err)"
  for entries in 64 1024; do
    machine $entries
    EXACT_ENTRIES=$entries "./$kernel.exact" "$@" >/dev/null 2>exact.err || fail "$kernel.exact: $(cat exact.err)"
    near "$(recorded "$kernel.trace" $entries)" "$(sed -n 's/exact misses //p' exact.err)" "$share" 64 "$kernel, $entries entries"
  done
}
compare gups 0.01 18 4
compare transpose 0.02 600 3
compare colsum 0.02 2000 2000 1
compare spmv 0.02 15 18 8 1
compare hash_probe 0.02 18
compare list 0.02 50000 4096 1
compare tree 0.02 20000
compare bfs 0.02 16 2
compare stream 0.02 4 3

# Sampled: random reads over 8,192 regions with one page each, so that the share of regions is the
# share of reads.
cat >sparse.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  size_t regions = 8192, region = (size_t)2 << 20;
  volatile char *a = malloc(regions * region);
  uint64_t x = 1, sum = 0;
  if (!a)
    return 77;
  for (int i = 0; i < 2000000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += (uint64_t)a[(x >> 40) % regions * region]++;
  }
  printf("%lu\n", (unsigned long)sum);
  return 0;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate sparse.c -o sparse
machine 1024
./sparse >want || { [ $? = 77 ] && skip "16 GiB of address space cannot be had: nothing sampled was compared"; fail "sparse fails"; }
for rate in 1 0.1 0.01; do
  "$SMALLOC" record -q --rate $rate -o sparse.trace -- ./sparse >out 2>err || fail "sparse: $(cat err)"
  cmp want out || fail "the program prints something else"
  # 1 - 1024/8192 of the reads miss. 82 of the regions are sampled at 0.01: 11 % is one standard deviation.
  case $rate in 1) share=0.01 ;; 0.1) share=0.17 ;; *) share=0.5 ;; esac
  near "$(recorded sparse.trace 1024)" 1750000 $share 0 "sparse at rate $rate"
  "$SMALLOC" trace show sparse.trace --json >out
  runs_at_rate=$(python3 -c 'import json; print(json.load(open("out"))["events"]["access_runs"])')
  echo "rate $rate: $runs_at_rate runs in $(stat -c %s sparse.trace) bytes"
done
[ "$runs_at_rate" -lt 60000 ] || fail "at rate 0.01 still $runs_at_rate runs of 2000000"
