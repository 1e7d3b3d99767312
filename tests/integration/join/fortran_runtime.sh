#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Objects that flang's runtime allocates (STAT=, POINTER, assignment) come from libsmalloc's heaps
# if superpages pay for them. Bounds, status, contents, reallocation and deallocation stay as in the
# runtime.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
command -v "$FLANG" >/dev/null || skip "no $FLANG"
cat >t.f90 <<'F'
module huge
  use iso_c_binding
  implicit none
  interface
    integer(c_long) function huge_kib(p, n) bind(c)
      import
      type(c_ptr), value :: p
      integer(c_size_t), value :: n
    end function
  end interface
contains
  subroutine report(name, a)
    character(*), intent(in) :: name
    real(8), intent(in), target :: a(:)
    print '(a, a, i0)', name, ' huge_kib ', huge_kib(c_loc(a(1)), int(size(a), c_size_t)*8)
  end subroutine
end module
program t
  use huge
  implicit none
  integer, parameter :: n = 4194304
  type part
    real(8), allocatable :: inner(:)
  end type
  real(8), allocatable :: a(:), b(:), c(:), d(:, :)
  real(8), pointer :: p(:), q(:)
  type(part), allocatable :: parts(:)
  integer, allocatable :: pick(:)
  character(200) :: message
  real(8) :: s
  integer :: i, k, status
  allocate (pick(n))
  do i = 1, n
    pick(i) = int(mod(int(i, 8)*7919_8, int(n, 8))) + 1
  end do
  allocate (a(n), stat=status)
  print *, 'status', status, lbound(a), ubound(a)
  allocate (a(n), stat=status, errmsg=message)
  print *, 'again', status /= 0, trim(message)
  allocate (p(-5:n), stat=status)
  print *, 'pointer', status, lbound(p), ubound(p)
  do i = 1, n
    a(i) = mod(i, 7)
    p(i) = mod(i, 5)
  end do
  p(-5:0) = 1
  b = a
  print *, 'assigned', lbound(b), ubound(b), sum(b)
  b = a(11:n)
  print *, 'shorter', lbound(b), ubound(b), sum(b)
  b = [b, a(1:10)]
  print *, 'longer', lbound(b), ubound(b), sum(b)
  c = p
  print *, 'bounds', lbound(c), ubound(c), sum(c)
  d = reshape(a, [2048, 2048])
  d = transpose(d)
  d = d(:, 2048:1:-1)
  d = d(1:1024, :)
  print *, 'two', lbound(d), ubound(d), sum(d), d(3, 5)
  d = d(2:, :)
  print *, 'itself', lbound(d), ubound(d), sum(d), d(3, 5)
  s = 0
  do k = 1, 4
    do i = 1, n
      s = s + a(pick(i)) + p(pick(i)) + b(pick(i)) + d(mod(pick(i), 1023) + 1, mod(i, 2048) + 1)
    end do
  end do
  print *, 'sum', s
  allocate (parts(1000), stat=status)
  do i = 1, 1000
    allocate (parts(i)%inner(i), stat=status)
    parts(i)%inner = i
  end do
  print *, 'parts', sum([(sum(parts(i)%inner), i=1, 1000)])
  q => p(1:10)
  deallocate (q, stat=status)
  print *, 'not whole', status /= 0
  call report('stat', a)
  call report('pointer', p)
  call report('assigned', b)
  deallocate (a, p, b, parts, stat=status)
  print *, 'deallocated', status
  do i = 1, 20
    allocate (a(n/2 + i), stat=status)
    a = i
    s = s + a(i)
    deallocate (a)
  end do
  print *, 'at last', s
end program
F
cat >huge.c <<'C'
#include <stdio.h>
#include <stddef.h>
long huge_kib(const void *p, size_t bytes) {
  FILE *smaps = fopen("/proc/self/smaps", "r");
  char line[4096];
  long kib = 0, total = 0;
  int inside = 0;
  while (smaps && fgets(line, sizeof line, smaps)) {
    unsigned long start, stop;
    char dash;
    if (sscanf(line, "%lx%c%lx", &start, &dash, &stop) == 3 && dash == '-')
      inside = start < (unsigned long)p + bytes && (unsigned long)p < stop;
    if (inside && sscanf(line, "AnonHugePages: %ld", &kib) == 1)
      total += kib;
  }
  if (smaps)
    fclose(smaps);
  return total;
}
C
"$CLANG" -O2 -c huge.c -o huge.o
"$FLANG" -O2 t.f90 huge.o -o reference
./reference >whole
grep -v huge_kib whole >expected
for option in -O0 -O1 -O2 -O3; do
  quietly "$FLANG" $option -fpass-plugin="$PLUGIN" t.f90 huge.o -o without
  expect_status 0 ./without
  cmp -s <(grep -v huge_kib out) expected || { diff out expected >&2 || true; fail "another result ($option)"; }
  for how in auto guest superpage; do
    quietly "$FLANG" $option -fpass-plugin="$PLUGIN" -mllvm -smalloc-heap=$how t.f90 huge.o "${LINK_LIBRARY[@]}" -o with
    expect_status 0 ./with
    cmp -s <(grep -v huge_kib out) expected || { diff out expected >&2 || true; fail "another result with the library ($option, $how)"; }
    expect_status 0 env SMALLOC_CONF=populate:always,promote:eager ./with
    cmp -s <(grep -v huge_kib out) expected || fail "another result with promotion ($option, $how)"
  done
done
quietly "$FLANG" -O2 -fpass-plugin="$PLUGIN" t.f90 huge.o "${LINK_LIBRARY[@]}" -o with
expect_status 0 "$SMALLOC" sites with
expect_match out ' allocate .*runtime from'
expect_match out ' allocate \(pointer\) .*runtime from'
expect_match out ' assignment .*runtime from'
need_thp
expect_status 0 env SMALLOC_CONF=populate:always,promote:eager ./with
for what in stat pointer assigned; do
  kib=$(sed -n "s/^$what huge_kib //p" out)
  [ "$kib" -ge 16384 ] || { cat out >&2; fail "$what: $kib KiB of 32768 on superpages"; }
done
