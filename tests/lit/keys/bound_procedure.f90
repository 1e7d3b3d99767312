! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: what a type-bound procedure of a polymorphic object gets has a key by the slot and the procedure's type. A
! caller of another unit, which knows no table, thus reaches the procedures of all extended types, but none with other arguments. The
! object flows to the procedures of its own type, by the description that its descriptor gets; that of a variable has it from the start.
! REQUIRES: flang, llvm-22
! RUN: rm -rf %t.modules && mkdir %t.modules
! RUN: %flang -cpp -O2 -J %t.modules -c -o %t.1.o %s && %python %S/Inputs/keys.py %t.1.o > %t.1
! RUN: %flang -cpp -DCALLER -O2 -I %t.modules -c -o %t.2.o %s && %python %S/Inputs/keys.py %t.2.o > %t.2
! RUN: cat %t.2 %t.1 > %t && FileCheck %s < %t && FileCheck --check-prefix=NONE %s < %t
! CHECK: flow [[SITE:[0-9a-f]+]] -> [[SLOT:[0-9a-f]+]] argument 3 of 3 of type-bound procedure 1 to-contents
! CHECK-DAG: flow [[SLOT]] -> {{[0-9a-f]+}} argument 3 of _QMmodelsPsum_dense{{$}}
! CHECK-DAG: flow [[SLOT]] -> {{[0-9a-f]+}} argument 3 of _QMmodelsPsum_sparse{{$}}
! CHECK-DAG: flow {{[0-9a-f]+}} -> [[DENSE:[0-9a-f]+]] object of _QMmodels{{.*}}dense to-contents
! CHECK-DAG: flow {{[0-9a-f]+}} -> [[SPARSE:[0-9a-f]+]] object of _QMmodels{{.*}}sparse to-contents
! CHECK-DAG: flow {{[0-9a-f]+}} -> [[KEPT:[0-9a-f]+]] memory of global _QMmodelsEkept to-contents
! CHECK-DAG: flow [[KEPT]] -> [[DENSE]] object of _QMmodels{{.*}}dense{{$}}
! CHECK-DAG: flow [[DENSE]] -> {{[0-9a-f]+}} argument 1 of _QMmodelsPsum_dense{{$}}
! CHECK-DAG: flow [[SPARSE]] -> {{[0-9a-f]+}} argument 1 of _QMmodelsPsum_sparse{{$}}
! The object's argument has no key by the slot; a key leads to no procedure with other arguments; an object flows to its own type's.
! NONE-NOT: -> {{.*}} argument 1 of 3 of type-bound procedure 1
! NONE: flow {{[0-9a-f]+}} -> [[SLOT:[0-9a-f]+]] argument 3 of 3 of type-bound procedure 1
! NONE: flow {{[0-9a-f]+}} -> [[DENSE:[0-9a-f]+]] object of _QMmodels{{.*}}dense
! NONE-NOT: flow [[SLOT]] -> {{.*}} of _QMmodelsPother
! NONE-NOT: flow [[DENSE]] -> {{.*}} of _QMmodelsPsum_sparse
#ifdef CALLER
subroutine evaluate(m, n, s)
  use models
  class(model), intent(in) :: m
  integer, intent(in) :: n
  real(8), intent(out) :: s
  real(8), allocatable :: y(:)
  allocate (y(n * 515))
  y = 1
  call m%sum(s, y)
  s = s + y(3)
end subroutine
#else
module models
  implicit none
  type, abstract :: model
  contains
    procedure(sum_of), deferred :: sum
    procedure :: name_of
  end type
  abstract interface
    subroutine sum_of(self, s, x)
      import model
      class(model), intent(in) :: self
      real(8), intent(out) :: s
      real(8), intent(inout) :: x(:)
    end subroutine
  end interface
  type, extends(model) :: dense
    real(8), allocatable :: cells(:)
  contains
    procedure :: sum => sum_dense
  end type
  type, extends(model) :: sparse
    integer, allocatable :: at(:)
  contains
    procedure :: sum => sum_sparse
  end type
  type :: unrelated
    real(8), allocatable :: cells(:)
  contains
    procedure :: first
    procedure :: other
  end type
  type(dense), allocatable :: kept
contains
  subroutine make(m, of_cells, u, n)
    class(model), allocatable, intent(out) :: m
    logical, intent(in) :: of_cells
    class(unrelated), allocatable, intent(out) :: u
    integer, intent(in) :: n
    type(dense), allocatable :: d
    type(sparse), allocatable :: s
    type(unrelated), allocatable :: v
    if (of_cells) then
      allocate (d)
      allocate (d%cells(n))
      call move_alloc(d, m)
    else
      allocate (s)
      allocate (s%at(n))
      call move_alloc(s, m)
    end if
    allocate (kept)
    allocate (v)
    call move_alloc(v, u)
  end subroutine
  subroutine name_of(self)
    class(model), intent(in) :: self
    print *, "model"
  end subroutine
  subroutine sum_dense(self, s, x)
    class(dense), intent(in) :: self
    real(8), intent(out) :: s
    real(8), intent(inout) :: x(:)
    s = sum(x * self%cells)
  end subroutine
  subroutine sum_sparse(self, s, x)
    class(sparse), intent(in) :: self
    real(8), intent(out) :: s
    real(8), intent(inout) :: x(:)
    s = sum(x(self%at))
  end subroutine
  subroutine first(self)
    class(unrelated), intent(in) :: self
    print *, self%cells
  end subroutine
  subroutine other(self, x)
    class(unrelated), intent(in) :: self
    real(8), intent(inout) :: x(:)
    x = self%cells
  end subroutine
end module
#endif
