! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! The same in Fortran: an allocatable matrix, read along its second dimension.
program app
  implicit none
  integer, parameter :: n = 1024
  real(8), allocatable :: matrix(:, :)
  real(8) :: total
  integer :: i, j
  allocate (matrix(n, n))
  do j = 1, n
    do i = 1, n
      matrix(i, j) = mod(i + j, 7)
    end do
  end do
  total = 0
  do i = 1, n
    do j = 1, n
      total = total + matrix(i, j)
    end do
  end do
  print '(a, i0)', 'sum ', int(total)
end program app
