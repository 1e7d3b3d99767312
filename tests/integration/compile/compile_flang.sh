#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fortran: allocate, allocate with stat, pointers and automatic reallocation, compiled by flang.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
command -v "$FLANG" >/dev/null || skip "no $FLANG"
cat >t.f90 <<'F'
program t
  implicit none
  integer, parameter :: n = 2048
  real(8), allocatable :: a(:, :), b(:)
  real(8), pointer :: p(:)
  real(8) :: s
  integer :: i, j, status
  allocate (a(n, n))
  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i + j, 7)
    end do
  end do
  s = 0
  do i = 1, n
    do j = 1, n
      s = s + a(i, j)
    end do
  end do
  allocate (p(1000), stat=status)
  p = 1
  b = a(:, 1)
  b = [b, b]
  print '(a, i0, a, i0, a, i0, a, i0)', 'sum ', int(s), ' status ', status, ' p ', int(sum(p)), ' b ', size(b)
  deallocate (p, a)
end program t
F
"$FLANG" -O2 t.f90 -o reference
expected=$(./reference)
for opt in -O0 -O2 -O3; do
  quietly "$FLANG" $opt -fpass-plugin="$PLUGIN" t.f90 -o without
  expect_status 0 ./without
  expect_match out "^$expected\$"
  quietly "$FLANG" $opt -fpass-plugin="$PLUGIN" t.f90 "${LINK_LIBRARY[@]}" -o with
  expect_status 0 ./with
  expect_match out "^$expected\$"
done
has_sites without || fail "no sites"
quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -mllvm -smalloc-heap=off -c t.f90 -o off.o
! calls_thunk off.o || fail "-mllvm -smalloc-heap=off rewrote a site"
