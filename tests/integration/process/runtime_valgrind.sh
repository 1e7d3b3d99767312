#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Under valgrind the heaps stay off, with one warning: valgrind's free() would not know libsmalloc's
# objects.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
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
# A request goes to the function that the program has called: memcheck compares it with that of the
# free.
cat >new.cpp <<'C'
#include <cstdio>
#include <cstdlib>
int main(int argc, char **argv) {
  char *kept[100] = {};
  for (long i = 0; i < atol(argv[1]); i++) {
    delete[] kept[i % 100];
    const long bytes = 1 + i * 37 % 20000;
    kept[i % 100] = new char[bytes];
    for (long k = 0; k < bytes; k++)
      kept[i % 100][k] = static_cast<char>(i + k);
  }
  int sum = 0;
  for (char *p : kept) {
    sum += *p;
    delete[] p;
  }
  printf("%d\n", sum);
}
C
"$CLANGXX" -O2 -fplugin="$PLUGIN" new.cpp -o new -L"$(dirname "$LIB")" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$(dirname "$LIB")"
"$SMALLOC" sites --json new >sites.json
json_is sites.json 'd["sites"][0]["rewritten"]'
./new 10000 >want
expect_status 0 valgrind -q --error-exitcode=9 ./new 10000
cmp want out || fail "another result under valgrind"
expect_no_match err 'Mismatched'
