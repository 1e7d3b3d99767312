#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(Smalloc) and smalloc_enable() build programs with sites that run on libsmalloc.
# shellcheck source=tests/consumer/lib.sh
. "$(dirname "$0")/../lib.sh"
need_passes
clang=(-DCMAKE_C_COMPILER="$CLANG" -DCMAKE_CXX_COMPILER="$CLANGXX" -DCMAKE_Fortran_COMPILER="$FC")
configure() { cmake -S "$HERE/find_package" -DSmalloc_DIR="$PACKAGE" -DCMAKE_BUILD_TYPE=Release "$@"; }

logged configure -B b -G Ninja "${clang[@]}" -DWITH_LTO=ON -DWITH_FORTRAN=ON
logged cmake --build b
expect_built b/app
expect_built b/app_with_library
expect_built b/app_lto
found 'fplugin-arg-smalloc-numa=hints' <b/build.ninja || fail "NUMA: the plugin gives no hints"
has_sites b/libpart.so || fail "libpart.so has no sites"
! needs_library b/libpart.so || fail "libpart.so needs libsmalloc: dlopen would fail"
expect_status 0 b/app_fortran
expect_match out '^sum 3145[0-9]+$'
has_sites b/app_fortran || fail "the Fortran program has no sites"

# The allocator alone: no site, but the library is linked.
! has_sites b/allocator_only || fail "allocator_only was compiled with the plugin"
expect_status 0 b/allocator_only
expect_match out "^$EXPECTED "

# The static program: sites, no shared library, and libsmalloc's heaps inside.
has_sites b/app_static || fail "app_static has no sites"
! readelf -lW b/app_static | found INTERP || fail "app_static is not static"
SMALLOC_CONF=heap:superpage,stats:exit expect_status 0 b/app_static
expect_match err 'smalloc: heaps: +running, strategy superpage'

# A second build does nothing.
cmake --build b >again
expect_match again 'no work to do'

# Another compiler: a clear warning, no site, libsmalloc linked.
configure -B gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ >log 2>&1 || { cat log; fail "gcc: configure"; }
expect_match log 'the plugin is for clang and flang 22, not for C: GNU'
tr -s ' \n' ' ' <log | found 'only the allocator is linked' || fail "the warning does not say what is left out"
logged cmake --build gcc
! has_sites gcc/app || fail "gcc wrote sites?"
needs_library gcc/app || fail "gcc: libsmalloc was not linked"
expect_status 0 gcc/app
expect_match out "^$EXPECTED library loaded\$"

# Errors end the configuration with a reason.
refused() { # WRONG MESSAGE
  if configure -B wrong "${clang[@]}" -DWRONG="$1" >log 2>&1; then fail "accepted: smalloc_enable($1)"; fi
  tr -s ' \n' ' ' <log | found -E "$2" || { cat log; fail "smalloc_enable($1): no message /$2/"; }
}
refused 'app;PROFILE_USE;x.directives' 'PROFILE_USE .*/x.directives: no such file'
refused 'app;PROFILE_GENERATE;dir;PROFILE_USE;x.directives' 'PROFILE_GENERATE and PROFILE_USE: one after the other'
refused 'app;PROFILE_GENERATE;dir;STATIC' 'PROFILE_GENERATE: a static program cannot be recorded'
refused 'nothing' 'smalloc_enable\(nothing\): no such target'
refused 'app;HEAP;huge' 'HEAP huge: not one of'
refused 'app;FAST' 'unknown argument: FAST'
# An incomplete build tree, as scripts/demo leaves it: reported before anything is compiled.
if [ "${SMALLOC_TREE:-build}" = build ] && [ -e "$LIBDIR/libsmalloc_feedback.so" ]; then
  built=$PACKAGE
  while read -r library target arguments; do
    rm -rf partial
    mkdir -p partial/cmake
    cp -r "$built" partial/cmake/
    ln -s "$LIBDIR/smalloc" partial/
    sed -i "s#[^\";]*/$library\"#/nowhere/$library\"#" partial/cmake/Smalloc/SmallocTargets.cmake
    PACKAGE=$PWD/partial/cmake/Smalloc
    refused "$arguments" "$target \(/nowhere/$library\): not found: build all of smalloc"
  done <<'PARTS'
libsmalloc_feedback.so smalloc_feedback app;PROFILE_GENERATE;dir
libsmalloc.a smalloc_static app;STATIC
PARTS
  PACKAGE=$built
fi

# A changed machine file causes a new build; an unchanged one does not.
refused 'app;OPTIONS;machine=./none.json' 'OPTIONS machine=./none.json: no such file'
sed 's/"name": "oracle"/"name": "first"/' "$SMALLOC_SOURCE/tests/oracle/machine.json" >machine.json
logged configure -B machined -G Ninja "${clang[@]}" "-DWITH_MACHINE=$PWD/machine.json"
logged cmake --build machined --target app_machine
"$BIN/smalloc" sites machined/app_machine --json | found '"first"' || fail "the machine's file did not decide"
cmake --build machined --target app_machine >again
expect_match again 'no work to do'
sed -i 's/"name": "first"/"name": "second"/' machine.json
logged cmake --build machined --target app_machine
"$BIN/smalloc" sites machined/app_machine --json | found '"second"' || fail "another machine, the same program"

# Two-pass profile: two configure lines. A run leaves its trace, and the directives made from it
# decide. Changed directives rebuild the files that they decide, and unchanged ones rebuild nothing.
if [ -e "$LIBDIR/libsmalloc_feedback.so" ]; then
  logged configure -B profiled -G Ninja "${clang[@]}" -DWITH_PROFILE=GENERATE
  logged cmake --build profiled --target app_profiled
  mkdir -p profiled/traces
  SMALLOC_CONF=rate:1 expect_status 0 profiled/app_profiled # complete, since a hundredth of 16 MiB is none or one of the two objects
  expect_match out "^$EXPECTED library loaded\$"
  set -- profiled/traces/smalloc.app_profiled.*.trace
  [[ $# = 1 && -s $1 ]] || fail "no trace: $(ls profiled/traces)"
  expect_status 0 "$BIN/smalloc" analyze "$1" --machine zen4 --seconds 0.001 -o profiled/app.directives
  found ' page=2m .*part_sum' <profiled/app.directives || fail "no site was chosen: $(cat profiled/app.directives)"
  logged configure -B profiled -G Ninja "${clang[@]}" -DWITH_PROFILE=USE
  logged cmake --build profiled --target app_profiled
  decided_by_profile() {
    "$BIN/smalloc" sites profiled/app_profiled --json | python3 -c '
import json, sys
sites = [s for s in json.load(sys.stdin)["sites"] if s["decided_by"] == "profile"]
sys.exit(not any(s["decision"] == sys.argv[1] for s in sites))' "$1"
  }
  decided_by_profile superpage || fail "the profile decided nothing"
  cmake --build profiled --target app_profiled >again
  expect_match again 'no work to do'
  sed -i 's/page=2m/page=base/' profiled/app.directives
  logged cmake --build profiled --target app_profiled
  decided_by_profile base || fail "another profile, the same program"
  ! decided_by_profile superpage || fail "the old profile still decides"
fi
