! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: what the runtime allocates into a component of an argument, other units find in the argument's memory.
! The tags of older versions of flang do not name the argument.
! REQUIRES: flang, llvm-22
! RUN: %flang -O2 -c -o %t.o %s && llvm-readelf -p smalloc_keys %t.o | FileCheck %s
! CHECK: argument 1 of fill_{{ *$}}
module shape
  implicit none
  type box
    integer :: n
    real(8), pointer :: p(:)
  end type
end module
subroutine fill(b, n)
  use shape
  type(box) :: b
  integer :: n, failed
  allocate (b%p(n), stat=failed)
end subroutine
