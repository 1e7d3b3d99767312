#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Several files, C and C++, in one command: each gets its sites.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
for i in 1 2 3; do
  cat >part$i.c <<C
#include <stdlib.h>
double *make$i(size_t n) { double *a = malloc(n * n * 8); for (size_t i = 0; i < n * n; i++) a[i] = $i; return a; }
double sum$i(size_t n) { double *a = make$i(n), s = 0;
  for (size_t j = 0; j < n; j++) for (size_t i = 0; i < n; i++) s += a[i * n + j];
  free(a); return s; }
C
done
cat >main.cpp <<'C'
#include <cstdio>
#include <cstddef>
extern "C" double sum1(std::size_t), sum2(std::size_t), sum3(std::size_t);
int main() { double *a = new double[100]; a[5] = sum1(64) + sum2(64) + sum3(64); std::printf("%.0f\n", a[5]); delete[] a; }
C
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -c part1.c part2.c part3.c main.cpp
for i in 1 2 3; do has_sites part$i.o || fail "part$i.o has no sites"; done
quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" part1.o part2.o part3.o main.o -o program
expect_status 0 ./program
expect_match out '^24576$'
[ "$(count_sites program)" -ge 3 ] || fail "$(count_sites program) sites"
