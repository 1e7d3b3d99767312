! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: a sum along the rows of a matrix stored by columns is strided.
! REQUIRES: flang
! RUN: %flang -mllvm -smalloc-first-touch=off -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck %s
! CHECK: superpages from 8.0 MiB on{{.*}}: {{malloc|aligned_alloc}} of {{.*}}walked across rows (a stride known at run time)
subroutine f(n, m, s)
  implicit none
  integer, intent(in) :: n, m
  real(8), intent(out) :: s(n)
  real(8), allocatable :: a(:, :)
  integer :: i, j
  allocate (a(n, m))
  do j = 1, m
    do i = 1, n
      a(i, j) = i + j
    end do
  end do
  do i = 1, n
    s(i) = 0
    do j = 1, m
      s(i) = s(i) * a(i, j) + 1
    end do
  end do
end subroutine
