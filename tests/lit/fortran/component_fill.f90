! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Missing if this fails: a nest that fills an allocatable component loads its descriptor anew in each column. The program announces the
! whole component in the first column.
! REQUIRES: flang
! RUN: %flang -O2 -S -emit-llvm -o - %s | FileCheck %s
! CHECK-LABEL: define {{.*}}fill
! CHECK: phi i{{1|64}} [ {{true|%[^,]*}}, %{{[^ ]*}} ], [ {{false|0}}, %{{[^ ]*}} ]
! CHECK: call preserve_mostcc void @__smalloc_v1_large_fill(
module grids
  type :: grid
    integer :: nx, ny
    real(8), allocatable :: u(:,:)
  end type
contains
  subroutine fill(g)
    type(grid), intent(inout) :: g
    integer :: i, j
    do j = 1, g%ny
      do i = 1, g%nx
        g%u(i, j) = 0.5d0*i + j
      end do
    end do
  end subroutine
end module
