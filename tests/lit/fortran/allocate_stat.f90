! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: ALLOCATE with STAT=, ALLOCATE of a pointer and assignment to an allocatable, which flang's runtime does, are sites.
! The runtime libraries of flang 19 and 21 have other prototypes: its calls are left alone, with a remark.
! REQUIRES: flang, llvm-22
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc -Rpass-analysis=smalloc %s 2>&1 | FileCheck --check-prefixes=REMARK,%if llvm-23 %{INLINED%} %else %{CALLED%} %s
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -S -emit-llvm -o - %s | FileCheck --check-prefixes=CHECK,%if llvm-23 %{INLINED-IR%} %else %{CALLED-IR%} %s
! REMARK-DAG: superpages from {{.*}}: allocate of n bytes in {{.*}}: picked at random through loaded indices
! REMARK-DAG: superpages from {{.*}}: allocate (pointer) of n bytes in {{.*}}: picked at random through loaded indices
! CALLED-DAG: superpages from {{.*}}, at the first touch since every byte is written: assignment that allocates in {{.*}}: picked at random through loaded indices
! CHECK-DAG: call i32 @__smalloc_v1_thunk__FortranAAllocatableAllocate(ptr {{.*}}, i1 true, {{.*}}, ptr {{.*}}.cell)
! CHECK-DAG: call i32 @__smalloc_v1_thunk__FortranAPointerAllocate(ptr {{.*}}, ptr {{.*}}.cell)
! From version 23 on the assignment is a loop, behind an allocation of a multiple of 64 bytes.
! INLINED-DAG: superpages from {{.*}}, at the first touch since every byte is written: aligned_alloc of n*8 bytes in {{.*}}: picked at random through loaded indices
! INLINED-IR-DAG: call {{.*}}@__smalloc_v1_thunk_aligned_alloc(
! CALLED-IR-DAG: call void @__smalloc_v1_thunk__FortranAAssign(ptr {{.*}}, ptr {{.*}}.cell)
! CHECK-DAG: define linkonce_odr hidden i32 @__smalloc_v1_thunk__FortranAAllocatableAllocate(ptr %0, ptr %1, i1 zeroext %2,
! CHECK-DAG: call i32 @__smalloc_v1_fortran_allocate(ptr %0, ptr 
! CALLED-IR-DAG: @__smalloc_v1_fortran_assign(ptr %0, ptr %1, ptr 
subroutine f(n, index, m, x, s)
  implicit none
  integer, intent(in) :: n, m, index(m)
  real(8), intent(in) :: x(n)
  real(8), intent(out) :: s
  real(8), allocatable :: a(:), b(:)
  real(8), pointer :: p(:)
  integer :: i, status
  allocate (a(n), stat=status)
  allocate (p(n))
  b = x
  do i = 1, n
    a(i) = i
    p(i) = i
  end do
  s = 0
  do i = 1, m
    s = s + a(index(i)) + p(index(i)) + b(index(i))
  end do
  deallocate (a, p)
end subroutine
