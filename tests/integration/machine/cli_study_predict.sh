# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc study --predict: misses of a trace x cost / cycles is an upper bound of the gain from
# superpages; --verify measures the gain.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
[ -e "$PLUGIN" ] && command -v "$CLANG" >/dev/null || skip "no plugin, or no $CLANG"
[ -e "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built"
export HOME=$tmp
unset XDG_CONFIG_HOME
# Random reads over 64 MiB (16,384 pages): nearly all miss a TLB of 1,536 entries, and none of 65,536.
cat >walk.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  size_t n = (size_t)8 << 20;
  uint64_t *a = malloc(n * sizeof *a), x = 1, sum = 0;
  for (size_t i = 0; i < n; i++) a[i] = i;
  for (int i = 0; i < 1000000; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    sum += a[(x >> 33) % n];
  }
  printf("%lu\n", (unsigned long)sum);
  return 0;
}
C
"$CC" -O1 walk.c -o plain
"$CLANG" -O1 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate walk.c -o walk 2>err || fail "$(cat err)"
"$SMALLOC" record -q --rate 1 -o walk.trace -- ./walk >out 2>err || fail "record: $(cat err)"
machine() { # NAME REACH: a machine of known reach and cost
  cat >"$1.json" <<JSON
{"schema": "smalloc.machine/1", "name": "$1", "frequency_hz": 1e9, "reach_pages": $2,
 "tlb": [{"level": 1, "page_bytes": [4096], "entries": $2, "ways": 0}],
 "walk_cost": [{"page_bytes": 4096, "pages": 1000, "cycles": 50}]}
JSON
}
machine small 1536
machine large 65536
expect_status 0 "$SMALLOC" study --predict --trace walk.trace --machine ./small.json --pages base -r 1 --json -- ./plain
json_is out 'd["predictions"][0]["source"] == "trace" and d["predictions"][0]["cost_cycles"] == 50'
# 1,000,000 random reads, of which 1 - 1536/16384 miss, and the 16,384 pages of the first loop.
json_is out 'abs(d["predictions"][0]["misses"] / (1e6 * (1 - 1536 / 16384) + 16384) - 1) < 0.1'
json_is out 'abs(d["predictions"][0]["translation_share"] - min(1, d["predictions"][0]["misses"] * 50 / d["predictions"][0]["cycles"])) < 1e-9'
expect_status 0 "$SMALLOC" study --predict --trace walk.trace --machine ./large.json --pages base -r 1 --json -- ./plain
json_is out 'd["predictions"][0]["misses"] < 40000' # first uses only
if [ "$(thp_mode)" = madvise ] || [ "$(thp_mode)" = always ]; then
  expect_status 0 "$SMALLOC" study --predict --verify --trace walk.trace --machine ./small.json -r 1 -- ./plain
  expect_match out '^plain: .* TLB misses \(trace\) x 50 cycles \(small\) = at most [0-9.]+ % of the time'
  expect_match out '^measured: '
fi
expect_error 1 'cannot read the trace \(nosuch\)' "$SMALLOC" study --predict --trace nosuch -- ./plain
expect_error 1 'cannot read the trace \(walk.c\)' "$SMALLOC" study --predict --trace walk.c -- ./plain
"$SMALLOC" record -q --source instrumented -o bare.trace -- ./plain >out 2>err || fail "record: $(cat err)"
expect_error 1 'the trace holds no accesses' "$SMALLOC" study --predict --trace bare.trace -- ./plain
expect_error 2 'cannot understand' "$SMALLOC" study --verify -- ./plain
