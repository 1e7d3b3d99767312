#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that the plugin compiles for aarch64 allocate through its thunks: linked with
# libsmalloc.so by three linkers and LTO, with libsmalloc.a, and without either. The statistics name
# their sites.
. "$(dirname "$0")/cross.bash"
need_library
need_plugin
programs=$SMALLOC_SOURCE/tests/aarch64
plugin=("${TARGET[@]}" -O2 -fplugin="$PLUGIN")
# in_sites PROGRAM FUNCTION...: it prints what it should, and its sites were served.
in_sites() {
  local program=$1
  shift
  expect_status 0 emulated "stats:exit,debug:on,$RESERVED" "./$program"
  diff "expected_${program%%.*}" out || fail "$program prints something else"
  expect_match err 'heaps: +running'
  expect_no_match err 'warning|contradict'
  for function; do
    expect_match err "site: .* [1-9][0-9.]* MiB got superpages.*, in $function "
  done
}
"$CLANG" "${plugin[@]}" -Rpass=smalloc -c "$programs/mixed.c" 2>remarks
expect_match remarks "superpages, at the first touch.* malloc of [0-9]* bytes in 'wrapped'"
"$CLANG" "${TARGET[@]}" mixed.o -o mixed.alone
# The smalloc command of this machine reads what the compiler decided for the other one.
"$SMALLOC" sites ./mixed.alone >sites
expect_match sites '^wrapped .* malloc .* superpage'
expect_match sites '^machine: generic .preset., reach 1536 pages of 4 KiB'
expect_status 0 emulated "" ./mixed.alone
mv out expected_mixed
for linker in bfd gold lld; do
  case $linker in
  lld) command -v ld.lld-22 ld.lld /usr/lib/llvm-22/bin/ld.lld >/dev/null || continue ;;
  *) command -v aarch64-linux-gnu-ld.$linker >/dev/null || continue ;;
  esac
  "$CLANG" "${TARGET[@]}" -fuse-ld=$linker mixed.o -o mixed.$linker "${LINK_LIBRARY[@]}"
  in_sites mixed.$linker wrapped cleared
done
"$CLANG" "${TARGET[@]}" -static mixed.o -o mixed.static -Wl,-u,malloc "$LIBDIR/libsmalloc.a" -pthread
in_sites mixed.static wrapped cleared
for lto in thin full; do
  "$CLANG" "${plugin[@]}" -flto=$lto -fuse-ld=lld "$programs/mixed.c" -o mixed.$lto -Wl,--load-pass-plugin="$PLUGIN" "${LINK_LIBRARY[@]}"
  in_sites mixed.$lto wrapped cleared
done
"$CLANGXX" "${plugin[@]}" -std=c++17 -c "$programs/mixed.cpp" -o threads.o
"$CLANGXX" "${TARGET[@]}" threads.o -o threads.alone -pthread
expect_status 0 emulated "" ./threads.alone
mv out expected_threads
"$CLANGXX" "${TARGET[@]}" threads.o -o threads.shared -pthread "${LINK_LIBRARY[@]}"
in_sites threads.shared main
"$CLANGXX" "${TARGET[@]}" -static threads.o -o threads.static -pthread -Wl,-u,malloc "$LIBDIR/libsmalloc.a"
in_sites threads.static main
