#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A loop whose superpages do not pay is reported once, although the summary for other units has it
# as well. Another loop is reported separately.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >t.c <<'C'
#include <stdlib.h>
void look(long **);
#ifdef OTHER
void look(long **a) {
  for (long i = 0; i < 4096; i++)
    (*a)[i] = i;
}
#else
long sum(size_t n) {
  long *a = malloc(n * sizeof(long)), s = 0;
  look(&a);
#ifndef ONLY_OTHER
  for (size_t i = 0; i < n; i++)
    s += a[i];
#endif
  return s;
}
#endif
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c t.c -o t.o
expect_status 0 "$SMALLOC" sites t.o
expect_match out 'why: streamed in the loop at line .*watched at run time$'
expect_no_match out 'streamed.*streamed|elsewhere'
cp t.c other.c
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -DOTHER -c other.c -o other.o
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -DONLY_OTHER -c t.c -o t.o
ld -r t.o other.o -o both.o
expect_status 0 "$SMALLOC" sites both.o
expect_match out 'why: no loop .*; elsewhere: streamed in the loop .*\(other.c\), through '
