#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The wrapper refuses a compiler that is not clang 22 with a clear message, not with a loader error.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
# A compiler of another version: an installed one, and a script that prints that version.
printf '#!/bin/sh\necho "Debian clang version 14.0.6"\n' >old-clang
chmod +x old-clang
for compiler in "$PWD/old-clang" gcc clang-14 clang-19 clang-21; do
  command -v "$compiler" >/dev/null || continue
  expect_status 1 env SMALLOC_CC="$compiler" "$BIN/smalloc-cc" -c gather.c -o x.o
  expect_match err "^smalloc-cc: error: compiler \\(.*\\): .*not clang or flang 22"
  expect_match err '^hint: '
done
expect_status 1 env SMALLOC_CXX=/nonexistent/clang++ "$BIN/smalloc-c++" -c gather.c
expect_match err '^smalloc-c\+\+: error: compiler \(/nonexistent/clang\+\+\): not found$'
expect_status 1 env SMALLOC_FC="$PWD/old-clang" "$BIN/smalloc-fc" -c gather.c
expect_match err '^smalloc-fc: error: compiler'
# Loaded into another major version of LLVM, the plugin itself says so: a host of its own stands for any tool of that version.
major=$(sed -nE 's/^LLVM_DIR:.*llvm-([0-9]+).*/\1/p' "$SMALLOC_BUILD/CMakeCache.txt")
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch) { *major = 20, *minor = 1, *patch = 0; }
int main(int argc, char **argv) {
  if (!dlopen(argv[1], RTLD_LAZY))
    printf("dlopen: %s\n", dlerror());
  return 0;
}
C
cc -rdynamic -o host host.c -ldl
mkdir -p "plugins/llvm-$major" plugins/llvm-20
cp "$PLUGIN" "plugins/llvm-$major/SmallocPlugin.so"
expect_status 1 ./host "plugins/llvm-$major/SmallocPlugin.so"
expect_match err "^smalloc: error: plugin \(plugins/llvm-$major/SmallocPlugin.so\): built for LLVM $major, loaded into LLVM 20\$"
expect_match err "^hint: use clang-$major"
# If the one for that version is installed beside it, the hint names it.
cp "$PLUGIN" plugins/llvm-20/SmallocPlugin.so
expect_status 1 ./host "plugins/llvm-$major/SmallocPlugin.so"
expect_match err "^hint: for this compiler: plugins/llvm-20/SmallocPlugin.so\$"
# With two plugins installed the wrapper takes the one of the compiler in use, and each compiler without one is refused.
mkdir -p two/bin two/lib/smalloc/llvm-19 two/lib/smalloc/llvm-22
cp "$BIN/smalloc-cc" two/bin/
for one in 19 22; do
  : >"two/lib/smalloc/llvm-$one/SmallocPlugin.so"
  printf '#!/bin/sh\necho "Debian clang version %s.1.0"\n' "$one" >"clang-of-$one"
  chmod +x "clang-of-$one"
  expect_status 0 env SMALLOC_CC="$PWD/clang-of-$one" two/bin/smalloc-cc --smalloc-show -c gather.c
  expect_match out "-fplugin=[^ ]*/two/lib/smalloc/llvm-$one/SmallocPlugin.so "
done
expect_status 1 env SMALLOC_CC="$PWD/old-clang" two/bin/smalloc-cc -c gather.c
expect_match err 'not clang or flang 22 or 19, for which the plugin is built$'
