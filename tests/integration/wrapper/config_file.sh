#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# clang --config=smalloc.cfg compiles and links with superpages, for clang and flang, without a
# message.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
cfg=$LIBDIR/smalloc/smalloc.cfg
quietly "$CLANG" --config="$cfg" -O2 -Wall -Werror gather.c -o with
has_sites with || fail "no sites"
runs_huge ./with
quietly "$CLANG" --config="$cfg" -O2 -Werror -c gather.c -o gather.o
quietly "$CLANG" --config="$cfg" -Werror gather.o -o with
runs_huge ./with
printf 'program p\nreal, allocatable :: a(:)\nallocate (a(1000))\na = 1\nprint *, sum(a)\nend program\n' >p.f90
if command -v "$FLANG" >/dev/null; then
  quietly "$FLANG" --config="$cfg" -O2 p.f90 -o p
  expect_status 0 ./p
  expect_match out '1000\.'
  has_sites p || fail "flang: no sites"
fi
end_thp
