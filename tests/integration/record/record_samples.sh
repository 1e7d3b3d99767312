#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc record --samples N: if a program uses more than N regions of 2 MiB, at most N of them are
# recorded, and their miss ratios equal those of all. Otherwise it is recorded completely. Threads
# and children of fork sample the same regions.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
# Reads one page of each of REGIONS regions in random order. The number of regions grows with time,
# as in programs that build a structure. It is split into functions, since a loop keeps the
# threshold of its start.
cat >sparse.c <<'C'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#define REGION ((size_t)2 << 20)
static volatile char *memory;
static size_t regions;
__attribute__((noinline)) static uint64_t some(size_t known, uint64_t seed) {
  uint64_t x = seed, sum = 0;
  for (int i = 0; i < 5000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const size_t region = (x >> 33) % known; // each region uses a different page, so that the pages share the sets of a TLB
    sum += (uint64_t)memory[region * REGION + region * 40503 % 512 * 4096]++;
  }
  return sum;
}
static void *all(void *seed) {
  uint64_t sum = 0;
  for (uint64_t part = 1; part <= 200; part++)
    sum += some(part < 100 ? regions * part / 100 + 1 : regions, part * 977 + (uint64_t)seed);
  return (void *)sum;
}
int main(int argc, char **argv) {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  regions = strtoul(argv[1], 0, 10);
  memory = malloc(regions * REGION);
  if (!memory)
    return 77;
  pthread_t other;
  const int threads = argc > 2 && argv[2][0] == 't', forks = argc > 2 && argv[2][0] == 'f';
  if (threads)
    pthread_create(&other, 0, all, (void *)1);
  const uint64_t sum = (uint64_t)all((void *)2);
  if (threads)
    pthread_join(other, 0);
  const pid_t child = forks ? fork() : 1;
  if (child == 0)
    exit(all((void *)3) ? 0 : 1);
  if (forks)
    waitpid(child, 0, 0);
  printf("%lu\n", (unsigned long)(threads ? 0 : sum));
  return 0;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate sparse.c -o sparse -pthread
recorded() { # TRACE SAMPLES ARGUMENT...
  local trace=$1 samples=$2
  shift 2
  expect_status 0 "$SMALLOC" record -q "$samples" -o "$trace" -- ./sparse "$@"
  expect_status 0 "$SMALLOC" trace show "$trace" --json
  mv out "$trace.json"
}
./sparse 8192 >want || { [ $? = 77 ] && skip "16 GiB of address space cannot be had"; fail "the program fails"; }
recorded whole.trace --rate=1 8192
json_is whole.trace.json 'd["sample_rate"] == 1'
recorded sampled.trace --samples=1000 8192
json_is sampled.trace.json '700 / 8192 <= d["sample_rate"] <= 1150 / 8192'
json_is sampled.trace.json '0.05 * 1e6 < d["events"]["access_runs"] < 0.25 * 1e6'
expect_status 0 "$SMALLOC" trace compare whole.trace sampled.trace --json
json_is out 'd["miss_ratio_error_mean"] < 0.01 and d["hellinger_affinity"] > 0.9'
json_is out 'abs(d["b"]["pages"] - d["a"]["pages"]) < 0.1 * d["a"]["pages"]'
# analyze corrects for it as well.
for trace in whole sampled; do
  expect_status 0 "$SMALLOC" analyze $trace.trace --machine zen3 --no-db --json
  mv out $trace.json
done
python3 - <<'PY' || fail "the sampled trace gives another result"
import json
whole, sampled = (json.load(open(f"{name}.json")) for name in ("whole", "sampled"))
assert abs(sampled["traces"][0]["accesses"] / whole["traces"][0]["accesses"] - 1) < 0.15, sampled["traces"]
a, b = (d["mappings"][0]["tlb_misses_base"] for d in (whole, sampled))
assert abs(b / a - 1) < 0.15, (a, b)
PY
# A program that fits is recorded completely.
recorded small.trace --samples=300 200
json_is small.trace.json 'd["sample_rate"] == 1'
# Several threads; and a child, whose own trace begins at its parent's rate.
recorded threads.trace --samples=500 4096 t
json_is threads.trace.json '0.6 * 500 / 4096 <= d["sample_rate"] <= 1.4 * 500 / 4096 and d["events"]["lost"] == 0'
expect_status 0 "$SMALLOC" record -q --samples 500 -o fork.trace -- ./sparse 4096 f
for trace in fork.trace fork.trace.*; do
  expect_status 0 "$SMALLOC" trace show "$trace" --json
  json_is out '0.6 * 500 / 4096 <= d["sample_rate"] <= 1.4 * 500 / 4096'
done
[ "$(ls fork.trace fork.trace.* | wc -l)" = 2 ] || fail "the child left no trace: $(ls)"
for bad in 0 -1 x 1048577 ''; do
  expect_error 125 'not a number of regions' "$SMALLOC" record --samples "$bad" -- ./sparse 1
done
expect_status 0 env LD_PRELOAD="$FEEDBACK" SMALLOC_CONF=trace:alone.trace,samples:many ./sparse 100
expect_match err "^smalloc: warning: SMALLOC_CONF: 'samples:many' has a value that is not understood: samples is a number of regions"
