#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A C++20 module: interface to pcm, pcm to object, importer; and implicit clang modules.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
cat >table.cppm <<'C'
module;
#include <cstddef>
export module table;
export double column_sums(std::size_t n) {
  double *a = new double[n * n], sum = 0;
  for (std::size_t i = 0; i < n * n; i++) a[i] = double(i % 7);
  for (std::size_t j = 0; j < n; j++)
    for (std::size_t i = 0; i < n; i++) sum += a[i * n + j];
  delete[] a;
  return sum;
}
C
printf 'import table;\n#include <cstdio>\nint main() { std::printf("%%.0f\\n", column_sums(512)); }\n' >main.cpp
flags=(-std=c++20 -O2 -fplugin="$PLUGIN")
quietly "$CLANGXX" "${flags[@]}" --precompile table.cppm -o table.pcm
quietly "$CLANGXX" -O2 -fplugin="$PLUGIN" -c table.pcm -o table.o
quietly "$CLANGXX" "${flags[@]}" -fmodule-file=table=table.pcm main.cpp table.o -o program
has_sites program || fail "no sites"
expect_status 0 ./program
expect_match out '^786429$'

mkdir include
printf 'module part { header "part.h" export * }\n' >include/module.modulemap
printf 'double *part(unsigned long n);\n' >include/part.h
printf '#include "part.h"\n#include <stdlib.h>\ndouble *part(unsigned long n) { return malloc(n * 8); }\n' >part.c
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -fmodules -fmodules-cache-path="$tmp/cache" -Iinclude -c part.c
has_sites part.o || fail "no sites with implicit modules"
