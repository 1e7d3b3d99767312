#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Under valgrind the heaps stay off, with one warning: valgrind's free() would not know libsmalloc's
# objects.
. "$(dirname "$0")/../support/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is missing"
cat >big.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  size_t n = (size_t)atol(argv[1]), s = 0;
  unsigned long *a = malloc(n * sizeof *a), x = 1;
  for (size_t i = 0; i < n; i++)
    a[i] = i;
  for (size_t i = 0; i < 1000000; i++) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    s += a[(x >> 20) % n];
  }
  printf("%zu\n", s);
  free(a);
  return 0;
}
C
"$CLANG" -O2 -fplugin="$PLUGIN" big.c -o big -L"$(dirname "$LIB")" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$(dirname "$LIB")"
./big 3000000 >want
expect_status 0 valgrind -q --error-exitcode=9 ./big 3000000
cmp want out || fail "another result under valgrind"
[ "$(grep -c 'smalloc: warning: .*valgrind' err)" = 1 ] || { cat err >&2; fail "not one warning"; }
expect_no_match err 'Invalid|lost'
