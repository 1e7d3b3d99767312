#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# If the compiler has no line numbers, as flang without -g, `smalloc sites` prints how to get them.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >t.c <<'C'
#include <stdlib.h>
double *make(size_t n) { return malloc(n * sizeof(double)); }
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c t.c -o t.o
expect_status 0 "$SMALLOC" sites t.o
expect_match out '^make +t.c:2 '
expect_no_match err 'without a line'
command -v "$FLANG" >/dev/null || skip "no $FLANG"
cat >t.f90 <<'F'
subroutine make(a, n)
  real(8), allocatable :: a(:)
  integer :: n
  allocate(a(n))
end subroutine
F
quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -c t.f90 -o t.o
expect_status 0 "$SMALLOC" sites t.o
expect_match err 'note: .*: 1 site without a line: compile with -g1, or -g$'
expect_status 0 "$SMALLOC" sites --quiet t.o
expect_no_match err 'without a line'
for flag in -g1 -g; do
  quietly "$FLANG" -O2 $flag -fpass-plugin="$PLUGIN" -c t.f90 -o t.o
  expect_status 0 "$SMALLOC" sites t.o
  expect_match out '^make_? +t.f90:4 '
  expect_no_match err 'without a line'
done
