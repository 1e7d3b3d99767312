! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: an access through an index array is a gather.
! REQUIRES: flang
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck %s
! CHECK: superpages from {{.*}}: {{malloc|aligned_alloc}} of {{.*}}picked at random through loaded indices
subroutine f(n, index, m, s)
  implicit none
  integer, intent(in) :: n, m, index(m)
  real(8), intent(out) :: s
  real(8), allocatable :: a(:)
  integer :: i
  allocate (a(n))
  do i = 1, n
    a(i) = i
  end do
  s = 0
  do i = 1, m
    s = s + a(index(i))
  end do
end subroutine
