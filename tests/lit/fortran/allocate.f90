! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: ALLOCATE, which flang writes as malloc (from version 23 on as aligned_alloc), is rewritten.
! REQUIRES: flang
! RUN: %flang -O2 -S -emit-llvm -o - %s | FileCheck %s
! CHECK: call {{.*}}@__smalloc_v1_thunk_{{malloc|aligned_alloc}}(
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
  deallocate (a)
end subroutine
