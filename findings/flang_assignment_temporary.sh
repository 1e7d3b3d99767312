#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# flang 22.1.8 (Debian 12's flang-22 1:22.1.8-1~deb12u1), gfortran 12.2.0 (Debian 12's gfortran-12
# 12.2.0-14+deb12u1), and the assignment to an allocatable array that has the right shape already.
#
# Both compilers evaluate a = a + b element by element, and the array stays where it is. gfortran
# allocates nothing. flang -O3 allocates a temporary array of the same size by malloc, stores the sum
# there, copies it to a, and frees it, in each turn of a loop. It does so for a = b + 1 too.
# The form decides. a(:) = a(:) + b needs no temporary, but a(:) = a + b does.
# -fno-realloc-lhs (no reallocation by assignment) rids a = a + b of it, but not a(:) = a + b.
# 100 assignments to an array of 8,000,000 bytes are 100 calls of malloc for 800 MB in flang.
# Exits 0 while that is so, 1 when it has changed.
set -euo pipefail
unset LD_PRELOAD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in gfortran-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 \
  libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1 libisl23=0.25-1.1 \
  libmpc3=1.3.1-1 libmpfr6=4.2.0-1 libgmp10=2:6.2.1+dfsg1-1.1 \
  {flang-22,libclang-cpp22,libllvm22,libmlir-22,libflang-22-dev}=1:22.1.8-1~deb12u1; do
  apt-get download -qq "$package" >/dev/null 2>&1 || { echo "cannot download $package"; exit 1; }
done
for deb in *.deb; do dpkg -x "$deb" root; done
libraries=$PWD/root/usr/lib/x86_64-linux-gnu
cat >assign.f90 <<'F'
module forms
contains
  subroutine assign(form, a, b)
    integer, intent(in) :: form
    real(8), allocatable, intent(inout) :: a(:)
    real(8), allocatable, intent(in) :: b(:)
    select case (form)
    case (1)
      a = a + b
    case (2)
      a = b + 1
    case (3)
      a(:) = a + b
    case (4)
      a(:) = a(:) + b
    end select
  end subroutine
end module
program turns
  use forms
  implicit none
  real(8), allocatable :: a(:), b(:)
  integer :: form, i
  allocate (a(1000000), b(1000000))
  do form = 1, 4
    a = 1
    b = 1
    call count_from_here()
    do i = 1, 100
      call assign(form, a, b)
    end do
    call report()
    if (a(1) /= merge(2, 101, form == 2)) stop 1
  end do
end program
F
cat >count.c <<'C'
#include <stddef.h>
#include <stdio.h>
void *__libc_malloc(size_t bytes);
static long calls, sum;
void *malloc(size_t bytes) {
  calls++, sum += bytes;
  return __libc_malloc(bytes);
}
void count_from_here_(void) { calls = sum = 0; }
void report_(void) {
  long seen = calls, bytes = sum;
  printf("%ld %ld\n", seen, bytes);
}
C
cc -O1 -fno-builtin -c count.c -o count.o
build_with_gfortran() { # OPTION...
  LD_LIBRARY_PATH=$libraries \
    root/usr/bin/x86_64-linux-gnu-gfortran-12 "$@" -c assign.f90 -o assign.o
  cc assign.o count.o "$libraries/libgfortran.so.5" -Wl,-rpath,"$libraries" -lm -o assign
}
build_with_flang() { # OPTION...
  LD_LIBRARY_PATH=$libraries:$PWD/root/usr/lib/llvm-22/lib \
    root/usr/lib/llvm-22/bin/flang "$@" -c assign.f90 -o assign.o
  cc assign.o count.o "$(find root -name 'libflang_rt.runtime.a' | head -n 1)" -lm -o assign
}
changed=0
forms=('a = a + b' 'a = b + 1' 'a(:) = a + b' 'a(:) = a(:) + b')
measure() { # WHAT CALLS...
  local what=$1 form=0 calls sum
  shift
  LD_LIBRARY_PATH=$libraries ./assign >counts
  while read -r calls sum; do
    echo "$what, 100 times ${forms[form]}: $calls calls of malloc for $((sum / 1000000)) MB"
    { [ "$calls" = "$1" ] && [ "$sum" = $(($1 * 8000000)) ]; } || changed=1
    form=$((form + 1))
    shift
  done <counts
  [ $# = 0 ] || changed=1
}
echo "flang-22 1:22.1.8-1~deb12u1, gfortran-12 12.2.0-14+deb12u1"
build_with_gfortran -O3
measure 'gfortran -O3' 0 0 0 0
build_with_flang -O3
measure 'flang -O3' 100 100 100 0
build_with_flang -O3 -fno-realloc-lhs
measure 'flang -O3 -fno-realloc-lhs' 0 0 100 0
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
