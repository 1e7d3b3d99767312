# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The default amount of recording. A small program is recorded completely, so that the directives
# cover both of its arrays. A large program is sampled: at least 200 regions, and no more than the
# limit.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >arrays.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
uint64_t *left(size_t n) { return malloc(n * 8); }
uint64_t *right(size_t n) { return malloc(n * 8); }
int main(int argc, char **argv) {
  size_t n = (size_t)1 << atoi(argv[1]), step = argc > 2 ? 4096 / 8 : 1;
  uint64_t *a = left(n), *b = right(n), s = 7, r = 0;
  for (size_t i = 0; i < n; i += step)
    a[i] = b[i] = i;
  for (int i = 0; i < 4000000; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    size_t k = (s >> 30) & (n - 1) & ~(step - 1);
    r += ((s >> 20) & 63) < 2 ? a[k] : b[k];
  }
  printf("%lu\n", (unsigned long)r);
  return 0;
}
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate arrays.c -o arrays
expect_status 0 "$SMALLOC" record -q -o small.trace -- ./arrays 22
expect_status 0 "$SMALLOC" analyze small.trace --machine zen4 --no-db --json -o small.directives
expect_no_match err 'few sampled regions|no directives|left without'
json_is out 'd["traces"][0]["sample_rate"] == 1 and d["mappings"][0]["category"]["function"] == "right"'
expect_match small.directives '^[0-9a-f]{16} page=2m rank=1 .* right arrays.c:'
expect_match small.directives '^[0-9a-f]{16} page=(2m|base) .* left arrays.c:'
# 2 GiB of addresses with each page touched: 1,024 regions.
expect_status 0 "$SMALLOC" record -q -o large.trace -- ./arrays 27 pages
expect_status 0 "$SMALLOC" trace show large.trace --json
json_is out '0.1 < d["sample_rate"] < 0.5'
expect_status 0 "$SMALLOC" analyze large.trace --machine zen4 --no-db --json
expect_no_match err 'few sampled regions'
json_is out '200 <= d["traces"][0]["regions"] <= 260 and d["mappings"][0]["category"]["function"] == "right"'
# A given rate is used.
expect_status 0 "$SMALLOC" record -q --rate 0.01 -o rate.trace -- ./arrays 22
expect_status 0 "$SMALLOC" trace show rate.trace --json
json_is out 'abs(d["sample_rate"] - 0.01) < 1e-6'
