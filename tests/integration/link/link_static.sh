#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Static programs use their own malloc: -static and -static-pie, three linkers.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || skip "no static C library"
for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static -fno-pie gather.c -fuse-ld="$linker" -o static
  runs_plain ./static
done
quietly "$CLANG" -O2 -fplugin="$PLUGIN" -static-pie -fPIE gather.c -o static_pie
runs_plain ./static_pie
