! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: a sum along the columns is a stream.
! REQUIRES: flang
! RUN: %flang -mllvm -smalloc-first-touch=off -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck %s
! CHECK: base pages: {{malloc|aligned_alloc}} of {{.*}}streamed
! CHECK-NOT: superpages from
subroutine f(n, m, s)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(out) :: s
  real(8), allocatable :: a(:, :)
  integer :: i, j
  allocate (a(n, m))
  s = 0
  do j = 1, m
    do i = 1, n
      a(i, j) = i + j
    end do
  end do
  do j = 1, m
    do i = 1, n
      s = s * a(i, j) + 1
    end do
  end do
end subroutine
