#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A CMake project that cannot be edited is built with smalloc-toolchain.cmake. It still finds
# libsmalloc after its installation.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/../lib.sh"
need_passes
logged cmake -S "$HERE/toolchain" -B b -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$PACKAGE/smalloc-toolchain.cmake" -DCMAKE_INSTALL_PREFIX="$tmp/inst" -DCMAKE_INSTALL_RPATH="$tmp/inst/lib"
logged cmake --build b
expect_built b/app
has_sites b/libpart.so || fail "libpart.so has no sites"
! needs_library b/libpart.so || fail "libpart.so needs libsmalloc"
expect_status 0 b/app_fortran
expect_match out '^sum 3145[0-9]+$'
has_sites b/app_fortran || fail "the Fortran program has no sites"
logged cmake --install b
expect_built inst/bin/app
