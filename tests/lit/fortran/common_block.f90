! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: a COMMON block and a module's array are listed as variables that superpages would help.
! REQUIRES: flang
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck %s
! CHECK-DAG: superpages: 'blk_' (common, 32000000 bytes): picked at random
! CHECK-DAG: superpages: {{.*}} (static, 32000000 bytes): picked at random
module state
  implicit none
  real(8), private, save :: m(4000000)
contains
  subroutine f(n, index, s)
    integer, intent(in) :: n, index(n)
    real(8), intent(out) :: s
    real(8) :: c(4000000)
    common /blk/ c
    integer :: i
    m(index(1)) = 2
    s = 0
    do i = 1, n
      s = s + c(index(i)) + m(index(i))
    end do
  end subroutine
end module
