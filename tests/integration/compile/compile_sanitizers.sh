#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sanitizer builds run, find their errors, and are not rewritten.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
cat >bug.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv) { (void)argv; int *a = malloc(10 * sizeof *a); for (int i = 0; i < 10; i++) a[i] = i; int r = a[9 + argc]; free(a); return r == 12345; }
C
for sanitizer in address memory thread undefined; do
  flags=(-O1 -g -fsanitize="$sanitizer")
  "$CLANG" "${flags[@]}" gather.c -o supported >/dev/null 2>&1 || { echo "no -fsanitize=$sanitizer here"; continue; }
  quietly "$CLANG" "${flags[@]}" -fplugin="$PLUGIN" -c gather.c -o gather.o
  case $sanitizer in address | memory | thread) ! calls_thunk gather.o || fail "$sanitizer: rewritten" ;; esac
  quietly "$CLANG" "${flags[@]}" -fplugin="$PLUGIN" gather.c -o without
  expect_status 0 ./without
  expect_match out "^$SUM "
  quietly "$BIN/smalloc-cc" "${flags[@]}" gather.c -o wrapped
  expect_status 0 ./wrapped
  expect_match out "^$SUM "
done
quietly "$CLANG" -O1 -g -fsanitize=address -fplugin="$PLUGIN" bug.c -o bug
expect_status 1 ./bug
expect_match err 'heap-buffer-overflow'
