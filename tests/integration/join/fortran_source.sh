#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ALLOCATE with SOURCE= and copies of sections, which flang's runtime makes, are sites and come from
# libsmalloc's heaps. Contents, bounds, status and deallocation are those of the runtime.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
command -v "$FLANG" >/dev/null || skip "no $FLANG"
cat >t.f90 <<'F'
subroutine walk(a, n, s, r)
  integer(8) :: n, s, i, j
  real(8) :: a(n), r
  do i = 1, s
    do j = i, n, s
      r = r + a(j)*mod(j, 97_8)
      a(j) = a(j) + 1
    end do
  end do
end subroutine
subroutine sources(b, n, r)
  interface
    subroutine walk(a, n, s, r)
      integer(8) :: n, s
      real(8) :: a(n), r
    end subroutine
  end interface
  integer(8) :: n
  real(8) :: r, b(:)
  real(8), allocatable :: a(:), c(:), one, two(:, :)
  real(8), pointer :: p(:)
  character(3), allocatable :: text(:)
  integer, allocatable :: part(:, :, :)
  integer :: status, whole(6, 5, 4), i
  allocate (a, source=b)
  print *, 'whole', lbound(a), ubound(a), sum(a)
  call walk(a, n, 4096_8, r)
  allocate (p, source=b)
  print *, 'pointer', lbound(p), ubound(p), sum(p)
  call walk(p, n, 4096_8, r)
  allocate (c(n), source=2.5d0)
  print *, 'one for all', lbound(c), ubound(c), sum(c)
  allocate (c(n), source=1d0, stat=status)
  print *, 'again', status /= 0
  deallocate (c)
  allocate (c, source=b(n:2:-3))
  print *, 'backwards', lbound(c), ubound(c), sum(c), c(1), c(size(c))
  allocate (one, source=b(7))
  print *, 'scalar', one
  allocate (two, source=reshape(b(1:n), [4096_8, n/4096]))
  print *, 'two', lbound(two), ubound(two), sum(two), two(3, 5)
  allocate (text(1000000), source='abc')
  print *, 'text', text(1), text(1000000)
  whole = reshape([(i, i=1, 120)], [6, 5, 4])
  allocate (part, source=whole(2:6:2, 5:1:-2, ::3))
  print *, 'part', shape(part), part
  ! sections, for a procedure that takes contiguous arrays: copied, and copied back
  call walk(a(1:n:2), n/2, 512_8, r)
  call walk(p(n:1:-2), n/2, 512_8, r)
  call walk(two(5:4000, 2), 3996_8, 3_8, r)
  call walk(two(5, :), n/4096, 3_8, r)
  print *, 'copied back', sum(a), sum(p), sum(two)
  deallocate (p, stat=status)
  print *, 'deallocated', status
end subroutine
program t
  interface
    subroutine sources(b, n, r)
      integer(8) :: n
      real(8) :: r, b(:)
    end subroutine
  end interface
  real(8), allocatable :: b(:)
  real(8) :: r = 0
  integer(8) :: n = 8388608, i
  integer :: k
  allocate (b(n))
  b = [(real(mod(i, 1001_8), 8), i=1, n)]
  do k = 1, 2
    call sources(b, n, r)
  end do
  print *, r
end program
F
"$FLANG" -O2 t.f90 -o reference
./reference >expected
for option in -O1 -O2; do
  quietly "$FLANG" $option -fpass-plugin="$PLUGIN" t.f90 -o without
  expect_status 0 ./without
  cmp -s out expected || { diff out expected >&2 || true; fail "another result ($option)"; }
  for how in auto superpage; do
    quietly "$FLANG" $option -fpass-plugin="$PLUGIN" -mllvm -smalloc-heap=$how t.f90 "${LINK_LIBRARY[@]}" -o with
    expect_status 0 env SMALLOC_CONF=heap:$how ./with
    cmp -s out expected || { diff out expected >&2 || true; fail "another result ($option, $how)"; }
  done
done
expect_status 0 "$SMALLOC" sites without
expect_match out ' allocate \(source\) '
expect_match out ' allocate \(pointer, source\) '
expect_match out ' copy of a section '
# A guest serves what has a site only. Every byte is copied: superpages at first touch.
need_thp
quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" -mllvm -smalloc-heap=guest t.f90 "${LINK_LIBRARY[@]}" -o with
expect_status 0 env SMALLOC_CONF=heap:guest,populate:always,stats:exit ./with
expect_match err 'big objects at first touch on: .* thp 1[4-9],'
