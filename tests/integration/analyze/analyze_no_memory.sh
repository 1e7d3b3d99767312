#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With little memory, address space or threads, smalloc analyze ends with the same result or with an
# error, never by a signal.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
FEEDBACK=$SMALLOC_BUILD/lib/libsmalloc_feedback.so
[ -r "$FEEDBACK" ] || skip "libsmalloc_feedback.so was not built (sanitizers)"
command -v "$CLANG" >/dev/null && [ -r "$PLUGIN" ] || skip "no $CLANG, or no plugin"
cat >app.c <<'C'
#include <stdlib.h>
int main(void) {
  const unsigned long n = 384ul << 20; /* 98,000 pages, about 30 MB in the analysis */
  char *volatile table = malloc(n);
  unsigned long x = 1;
  for (long i = 0; i < 600000; i++) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    table[(x >> 20) % n]++;
  }
  free(table);
  return 0;
}
C
"$CLANG" -O2 -g1 "-fplugin=$PLUGIN" -fplugin-arg-smalloc-profile-generate app.c -o app
expect_status 0 "$SMALLOC" record -q --rate 1 -o t.trace -- ./app
expect_status 0 "$SMALLOC" analyze t.trace --machine zen4 --no-db -q
mv out whole
errors=0
for limit in 20000 26000 32000 36000 40000 80000 120000 160000 200000 240000 320000 480000; do
  status=0
  (ulimit -v $limit && "$SMALLOC" analyze t.trace --machine zen4 --no-db -q) >out 2>err || status=$?
  case $status in
  0) cmp out whole || fail "another result with ulimit -v $limit" ;;
  1 | 127)
    errors=$((errors + 1))
    [ -s err ] || fail "nothing said with ulimit -v $limit"
    ;;
  *) fail "exit status $status with ulimit -v $limit: $(cat err)" ;;
  esac
done
[ $errors -gt 1 ] || fail "no limit was low enough"
