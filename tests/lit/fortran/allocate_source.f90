! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: ALLOCATE with SOURCE=, of an allocatable and of a pointer, and the copy of a section for a procedure that takes
! contiguous arrays are sites, and all of them is written.
! The runtime library of flang 19 has other prototypes: its calls are left alone, with a remark.
! REQUIRES: flang, llvm-21
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -c -o /dev/null -Rpass=smalloc -Rpass-missed=smalloc %s 2>&1 | FileCheck --check-prefix=REMARK %s
! RUN: %flang -mllvm -smalloc-machine=zen4 -O2 -S -emit-llvm -o - %s | FileCheck %s
! REMARK-DAG: at the first touch since every byte is written: allocate (source) of n bytes in {{.*}}: picked at random through loaded indices
! REMARK-DAG: at the first touch since every byte is written: allocate (pointer, source) of n bytes in {{.*}}: picked at random through loaded indices
! REMARK-DAG: copy of a section in 
! CHECK-DAG: call i32 @__smalloc_v1_thunk__FortranAAllocatableAllocateSource(ptr {{.*}}, i1 false, {{.*}}, ptr {{.*}}.cell)
! CHECK-DAG: call i32 @__smalloc_v1_thunk__FortranAPointerAllocateSource(ptr {{.*}}, ptr {{.*}}.cell)
! CHECK-DAG: call void @__smalloc_v1_thunk__FortranACopyInAssign(ptr {{.*}}, ptr {{.*}}.cell)
! CHECK-DAG: call i32 @__smalloc_v1_fortran_source(ptr %0, ptr %1, ptr 
! CHECK-DAG: call i32 @__smalloc_v1_fortran_copy_in(ptr %0, ptr %1, ptr 
subroutine f(n, index, m, x, s)
  implicit none
  interface
    subroutine g(a, n)
      integer :: n
      real(8) :: a(n)
    end subroutine
  end interface
  integer, intent(in) :: n, m, index(m)
  real(8), intent(in) :: x(:)
  real(8), intent(out) :: s
  real(8), allocatable :: a(:)
  real(8), pointer :: p(:)
  integer :: i
  allocate (a, source=x)
  allocate (p(n), source=1d0)
  s = 0
  do i = 1, m
    s = s + a(index(i)) + p(index(i))
  end do
  call g(p, n)
  deallocate (a, p)
end subroutine
