#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gfortran 12.2.0 (Debian 12's gfortran-12 12.2.0-14+deb12u1), flang 22.1.8 (Debian 12's flang-22
# 1:22.1.8-1~deb12u1), and the growth of an array constructor.
#
# An array constructor with an implied do loop may have array elements whose length only the call
# tells, as in [(values(i), i = 1, n)]. The compiled code then needs an array that grows.
# gfortran calls realloc in each turn of the loop, and asks for no byte more than the turn needs.
# So the requested bytes grow with the square of n. -O3 changes nothing. flang doubles the size.
# The program builds an array of 8 MB from 1,000 elements of 8,000 bytes each. gfortran calls
# realloc 1,000 times for 4,004 MB in sum, flang 10 times for 16 MB.
# For 1,000 scalar elements, both know the length: gfortran calls realloc once, flang never.
# gfortran 14.2.0 (Debian 13) behaved the same in a run by hand.
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
cat >grow.f90 <<'F'
module vectors
contains
  function values(count) result(v)
    integer, intent(in) :: count
    integer :: v(count)
    v = count
  end function
end module
program grow
  use vectors
  implicit none
  integer, allocatable :: a(:)
  integer :: i, n
  character(10) :: argument
  call get_command_argument(1, argument)
  read (argument, *) n
  call count_from_here()
  a = [(2 * i, i = 1, n)]
  call report()
  deallocate (a)
  call count_from_here()
  a = [(values(2000), i = 1, n)]
  call report()
  if (size(a) /= 2000 * n) stop 1
end program
F
cat >count.c <<'C'
#include <stddef.h>
#include <stdio.h>
void *__libc_realloc(void *object, size_t bytes);
static long calls, sum;
void *realloc(void *object, size_t bytes) {
  calls++, sum += bytes;
  return __libc_realloc(object, bytes);
}
void count_from_here_(void) { calls = sum = 0; }
void report_(void) { printf("%ld %ld\n", calls, sum); }
C
cc -O1 -fno-builtin -c count.c -o count.o
fortran() { # COMPILER OPTION
  case $1 in
  gfortran)
    LD_LIBRARY_PATH=$libraries root/usr/bin/x86_64-linux-gnu-gfortran-12 "$2" -c grow.f90 -o grow.o
    cc grow.o count.o "$libraries/libgfortran.so.5" -Wl,-rpath,"$libraries" -lm -o grow
    ;;
  flang)
    LD_LIBRARY_PATH=$libraries:$PWD/root/usr/lib/llvm-22/lib \
      root/usr/lib/llvm-22/bin/flang "$2" -c grow.f90 -o grow.o
    cc grow.o count.o "$(find root -name 'libflang_rt.runtime.a' | head -n 1)" -lm -o grow
    ;;
  esac
}
changed=0
echo "gfortran-12 12.2.0-14+deb12u1, flang-22 1:22.1.8-1~deb12u1"
for compiler in gfortran flang; do
  for option in -O0 -O3; do
    fortran $compiler $option
    LD_LIBRARY_PATH=$libraries ./grow 1000 >counts
    read -r fixed _ < <(sed -n 1p counts)
    read -r calls sum < <(sed -n 2p counts)
    echo "$compiler $option, 1,000 elements: scalars: $fixed calls of realloc;" \
      "vectors of 8,000 bytes: $calls calls for $((sum / 1000000)) MB in sum"
    [ "$fixed" -le 1 ] || changed=1
    case $compiler in
    gfortran) { [ "$calls" = 1000 ] && [ $((sum / 1000000)) = 4004 ]; } || changed=1 ;;
    flang) { [ "$calls" -le 20 ] && [ $((sum / 1000000)) -le 40 ]; } || changed=1 ;;
    esac
  done
done
if [ $changed = 1 ]; then
  echo "changed"
  exit 1
fi
