! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: a record says which array is allocated, several of one line too: of modules and programs always, of procedures,
! arguments and components with debug information.
! Older versions of flang name fewer of them in the IR.
! REQUIRES: flang, llvm-22
! RUN: %flang -O2 -S -emit-llvm -o - %s | FileCheck %s
! RUN: %flang -O2 -g -S -emit-llvm -o - %s | FileCheck --check-prefixes=CHECK,DEBUG %s
! CHECK-DAG: c"_QQmain\00{{.*(malloc|aligned_alloc)}}\00{{.*}}\00first\00
! CHECK-DAG: c"_QQmain\00{{.*(malloc|aligned_alloc)}}\00{{.*}}\00second\00
! CHECK-DAG: c"_QMarraysPmake\00{{.*(malloc|aligned_alloc)}}\00{{.*}}\00field\00
! DEBUG-DAG: c"_QQmain\00{{.*(malloc|aligned_alloc)}}\00{{.*}}\00cells%x\00
! DEBUG-DAG: c"_QQmain\00{{.*(malloc|aligned_alloc)}}\00{{.*}}\00cells%y\00
! DEBUG-DAG: c"work_\00{{.*}}\00given\00
! DEBUG-DAG: c"work_\00{{.*}}\00local\00
module arrays
  real(8), allocatable :: field(:)
contains
  subroutine make(n)
    integer(8) :: n
    allocate(field(n))
  end subroutine
end module
subroutine work(n, given, ierr)
  integer(8) :: n
  integer :: ierr
  real(8), allocatable :: given(:), local(:)
  allocate(given(n), local(n), stat=ierr)
  call keep(local)
end subroutine
program p
  use arrays
  interface
    subroutine work(n, given, ierr)
      integer(8) :: n
      integer :: ierr
      real(8), allocatable :: given(:)
    end subroutine
  end interface
  type pair
    real(8), allocatable :: x(:), y(:)
  end type
  type(pair) :: cells
  integer(8) :: n
  integer :: ierr
  real(8), allocatable :: first(:), second(:), third(:)
  read *, n
  allocate(first(n), second(n))
  allocate(cells%x(n), cells%y(n))
  call make(n)
  call work(n, third, ierr)
  call keep(first); call keep(second); call keep(cells%x); call keep(cells%y); call keep(third); call keep(field)
end program
