! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: an allocatable module array is found from another procedure.
! REQUIRES: flang
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck %s
! CHECK: superpages from {{.*}}: {{malloc|aligned_alloc}} of {{.*}}walked across rows
module state
  implicit none
  real(8), allocatable, private :: a(:, :)
contains
  subroutine setup(n, m)
    integer, intent(in) :: n, m
    allocate (a(n, m))
    a = 1
  end subroutine
  subroutine sums(n, m, s)
    integer, intent(in) :: n, m
    real(8), intent(out) :: s(n)
    integer :: i, j
    do i = 1, n
      s(i) = 0
      do j = 1, m
        s(i) = s(i) * a(i, j) + 1
      end do
    end do
  end subroutine
end module
