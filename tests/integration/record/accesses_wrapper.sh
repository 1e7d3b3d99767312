# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function that allocates, fills and returns an object records its accesses as any other function.
# If it is not static, its callers call a copy that takes the caller's cell.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
[ -r "$SMALLOC_BUILD/lib/libsmalloc_feedback.so" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
cat >build.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef LINKAGE
#define LINKAGE
#endif
__attribute__((noinline)) LINKAGE uint64_t *build(size_t n) {
  uint64_t *t = malloc(n * 8);
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < n; i++)
    t[i] = i;
  for (size_t i = 0; i < 100000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    t[x % n] ^= i;
  }
  return t;
}
int main(void) {
  uint64_t *t = build(1 << 18);
  printf("%llu\n", (unsigned long long)t[7]);
  free(t);
  return 0;
}
C
accesses() { # NAME OPTIONS...
  "$CLANG" -O2 -g1 "${@:2}" -fplugin="$PLUGIN" -fplugin-arg-smalloc-profile-generate build.c -o "$1" "${LINK_LIBRARY[@]}"
  expect_status 0 "$SMALLOC" record -q --source instrumented --rate 1 -o "$1.trace" -- "./$1"
  expect_status 0 "$SMALLOC" trace show "$1.trace" --json
  python3 -c 'import json; print(int(json.load(open("out"))["events"]["access_runs"]))'
}
exported=$(accesses exported) inside=$(accesses inside -DLINKAGE=static)
[ "$exported" -ge 90000 ] || fail "$exported runs of 100,000 accesses at random"
[ "$((exported * 10))" -ge "$((inside * 9))" ] || fail "$exported runs of the exported function, $inside of the static one"
