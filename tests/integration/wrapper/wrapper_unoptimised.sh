#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Without optimisation smalloc-cc prints one message a program, when it links it.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
mkdir 'a folder'
cp gather.c 'a folder'
echo 'int answer(void) { return 42; }' >other.c
echo 'int main(void) { return 0; }' >nothing.c
cc=$BIN/smalloc-cc
says() { # WHY ARGUMENT...
  expect_status 0 "$cc" "${@:2}"
  [ "$(grep -c warning: err)" = 1 ] || { cat err >&2; fail "not one line: ${*:2}"; }
  expect_match err "^smalloc-c(c|[+][+]): warning: unoptimised \\($1.*\\): the plugin does nothing there$"
}
no_level='without -O1 or more'
no_site='no object has an allocation site'
echo gather.c >words
says "$no_level" gather.c -o app
says "$no_level" -O0 gather.c -o app
says "$no_level" -O2 -O0 gather.c -o app
says "$no_level" -g @words -o app
says "$no_level" -fPIC -shared gather.c -o app
for level in -O -O1 -O2 -Os "-O0 -O3"; do
  # shellcheck disable=SC2086
  quietly "$cc" $level gather.c -o app
done
# In two steps: the compile step prints nothing.
for level in -O0 -O2; do
  quietly "$cc" $level -g -c other.c -o other.o
  quietly "$cc" $level -g -c 'a folder/gather.c' -o 'a folder/gather.o'
  case $level in
  -O0) says "$no_site" -O2 other.o 'a folder/gather.o' -o app ;;
  *) quietly "$cc" other.o 'a folder/gather.o' -o app ;;
  esac
  # A program that allocates nothing has no site.
  quietly "$cc" $level -c nothing.c -o nothing.o
  quietly "$cc" other.o nothing.o -o app
done
# Without a C library malloc may be any function, whatever the level is.
quietly "$cc" -O2 -ffreestanding -c gather.c -o gather.o
says "$no_site.* with -ffreestanding" gather.o -o app
# Code that the linker compiles.
if has_linker lld; then
  quietly "$cc" -O2 -flto -c gather.c -o gather.o
  quietly "$cc" -flto -fuse-ld=lld gather.o -o app
fi
# C++, and a CMake project without a build type, which compiles objects first.
sed 's/malloc(COUNT \* sizeof \*table)/new double[COUNT]/; s/free(table)/delete[] table/; s/= malloc(/= (uint32_t *)malloc(/' gather.c >gather.cpp
cc=$BIN/smalloc-c++
says "$no_level" gather.cpp -o app
quietly "$cc" -c gather.cpp -o gather.o
says "$no_site" gather.o -o app
quietly "$cc" -O2 -c gather.cpp -o gather.o
quietly "$cc" gather.o -o app
command -v cmake >/dev/null || skip "no cmake; everything else passed"
mkdir project
cp gather.c other.c project
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(project C)' 'add_executable(app gather.c other.c)' >project/CMakeLists.txt
for type in "" Release; do
  rm -rf built
  expect_status 0 cmake -S project -B built -DCMAKE_C_COMPILER="$BIN/smalloc-cc" "-DCMAKE_BUILD_TYPE=$type"
  expect_status 0 cmake --build built
  times=$(cat out err | { grep -c 'warning: unoptimised' || true; })
  [ "$times" = "$([ -z "$type" ] && echo 1 || echo 0)" ] || { cat out err >&2; fail "said $times times with the build type '$type'"; }
done
