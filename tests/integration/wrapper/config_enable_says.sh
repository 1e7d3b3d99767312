#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smalloc_enable prints one message if nothing is optimised. Files that the plugin writes beside
# objects are written although a compiler cache launches the compiler.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
command -v cmake >/dev/null || skip "no cmake"
[ -r "$LIBDIR/cmake/Smalloc/SmallocConfig.cmake" ] || skip "the package is not part of this build"
mkdir project
cat >project/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.25)
project(project C)
find_package(Smalloc REQUIRED)
foreach(name IN ITEMS one two)
  add_library(${name} STATIC one.c)
  target_compile_options(${name} PRIVATE ${OWN})
  smalloc_enable(${name} OPTIONS rewrite=all ${OPTIONS})
endforeach()
C
cat >project/one.c <<'C'
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[x[i]];
  free(a);
  return s;
}
C
configured() { # FLAG...
  rm -rf built
  expect_status 0 cmake -S project -B built -DCMAKE_C_COMPILER="$CLANG" -DSmalloc_DIR="$LIBDIR/cmake/Smalloc" "$@"
}
says() { # TIMES FLAG...
  configured "${@:2}"
  local times
  times=$(cat out err | { grep -c 'compiled without optimisation' || true; })
  [ "$times" = "$1" ] || { cat out err >&2; fail "said $times times instead of $1: ${*:2}"; }
}
says 1 -DCMAKE_BUILD_TYPE=
says 1 -DCMAKE_BUILD_TYPE=Debug
says 1 -DCMAKE_BUILD_TYPE=Release -DOWN=-O0
says 0 -DCMAKE_BUILD_TYPE=Release
says 0 -DCMAKE_BUILD_TYPE=RelWithDebInfo
says 0 -DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS=-O2
says 0 -DCMAKE_BUILD_TYPE= -DOWN=-O3
command -v ccache >/dev/null || skip "no ccache"
export CCACHE_DIR=$tmp/ccache
for option in sites coverage; do
  for round in 1 2; do
    rm -rf beside
    configured -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER_LAUNCHER=ccache "-DOPTIONS=$option=$tmp/beside"
    expect_status 0 cmake --build built
    [ -n "$(ls beside)" ] || fail "$option, round $round: nothing written"
  done
done
