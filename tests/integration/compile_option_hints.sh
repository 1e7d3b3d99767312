#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A plugin option that cannot be used ends with a line that says what to type, under clang and opt.
. "$(dirname "$0")/lib.sh"
[ -e "$PLUGIN" ] || skip "the plugin is not built"
echo 'int x;' >a.c
hint() { # OPTION PATTERN
  expect_status 1 "$CLANG" -O2 -c -fplugin="$PLUGIN" "-fplugin-arg-smalloc-$1" a.c -o a.o
  expect_match err '^error: smalloc: |error: smalloc: '
  expect_match err "^hint: .*$2"
}
hint heap=huge '-fplugin-arg-smalloc-heap=VALUE'
hint haep=split '-fplugin-arg-smalloc-KEY=VALUE'
hint sites=/proc/nowhere 'a directory that you may write to'
hint machine=/nowhere.json 'smalloc machine list'
