#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make CC=smalloc-cc`: the wrappers are drop-in compilers, also with parallel make; and so is the configuration file.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/../lib.sh"
need_passes
check() {
  expect_built ./app
  expect_built ./app_shared
  expect_status 0 ./app_fortran
  expect_match out '^sum 3145[0-9]+$'
  has_sites ./app_fortran || fail "the Fortran program has no sites"
}
mkdir wrappers cfg
cd wrappers
logged make -j2 -f "$HERE/make/Makefile" PROGRAM="$HERE/program" CC="$BIN/smalloc-cc" CXX="$BIN/smalloc-c++" FC="$BIN/smalloc-fc"
check
! needs_library libpart.so || fail "libpart.so needs libsmalloc"

cd ../cfg
cfg=--config=$LIBDIR/smalloc/smalloc.cfg
logged make -f "$HERE/make/Makefile" PROGRAM="$HERE/program" CC="$CLANG $cfg" CXX="$CLANGXX $cfg" FC="$FC $cfg"
check
