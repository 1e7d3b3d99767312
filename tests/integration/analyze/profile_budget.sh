# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A profile of two arrays, recorded with the defaults, and a budget for little more than one of
# them. The array with thirty times as many accesses gets the superpages, although the other one is
# allocated first. The decisions come from the program, or from a directives file.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
need_thp
cat >arrays.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static long huge_mib(void *p, size_t bytes) {
  FILE *smaps = fopen("/proc/self/smaps", "r");
  char line[512];
  unsigned long from, to, kib, total = 0;
  int inside = 0;
  while (fgets(line, sizeof line, smaps))
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from < (unsigned long)p + bytes && to > (unsigned long)p;
    else if (inside && sscanf(line, "AnonHugePages: %lu", &kib) == 1)
      total += kib;
  fclose(smaps);
  return (long)(total >> 10);
}
uint64_t *left(size_t n) { return malloc(n * 8); }
uint64_t *right(size_t n) { return malloc(n * 8); }
int main(int argc, char **argv) {
  size_t n = (size_t)1 << atoi(argv[1]);
  uint64_t *a = left(n), *b = right(n), s = 7, r = 0;
  for (size_t i = 0; i < n; i++)
    a[i] = b[i] = i;
  for (long i = 0; i < 20000000; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    size_t k = (s >> 30) & (n - 1);
    r += ((s >> 20) & 63) < 2 ? a[k] : b[k];
  }
  printf("cold %ld hot %ld sum %lu\n", huge_mib(a, n * 8), huge_mib(b, n * 8), (unsigned long)r);
  return 0;
}
C
# hot_wins COMMAND...: two arrays of 128 MiB each, with a budget of 150 MiB.
hot_wins() {
  local cold hot
  expect_status 0 env LD_PRELOAD="$LIB" "$@"
  read -r _ cold _ hot _ <out
  if [ "$hot" -lt 120 ] || [ "$cold" -gt 30 ]; then
    cat out err >&2
    fail "hot $hot, cold $cold of 128 MiB: $*"
  fi
}
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate arrays.c -o recorded
expect_status 0 "$SMALLOC" record -q -o arrays.trace -- ./recorded 22
expect_status 0 "$SMALLOC" analyze arrays.trace --machine zen4 --no-db -o arrays.directives
expect_match arrays.directives 'page=2m rank=1 .* right arrays.c:'
expect_match arrays.directives 'page=2m rank=2 .* left arrays.c:'
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-use=arrays.directives arrays.c -o used
hot_wins SMALLOC_CONF=budget:150m,stats:exit ./used 24
expect_match err 'demotions: +[1-9]'
hot_wins SMALLOC_CONF=budget:150m,directives:arrays.directives,validate:off ./recorded 24
# With demote:off superpages go to objects in the order of their allocation.
expect_status 0 env LD_PRELOAD="$LIB" SMALLOC_CONF=budget:150m,demote:off ./used 24
expect_match out '^cold 128 hot 0 '
