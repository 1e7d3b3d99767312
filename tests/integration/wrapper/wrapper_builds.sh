#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The wrappers build C, C++ and Fortran with every linker, without a message under -Werror, and with
# ccache.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
for linker in bfd gold lld; do
  ! misses_linker $linker || continue
  quietly "$BIN/smalloc-cc" -O2 -Wall -Werror -fuse-ld=$linker gather.c -o with
  has_sites with || fail "no sites"
  runs_huge ./with
  quietly "$BIN/smalloc-cc" -O2 -Wall -Werror -c gather.c -o gather.o
  quietly "$BIN/smalloc-cc" -Werror -fuse-ld=$linker gather.o -o with
  runs_huge ./with
done
for lto in -flto -flto=thin; do
  quietly "$BIN/smalloc-cc" -O2 -Werror $lto -fuse-ld=lld gather.c -o with
  runs_huge ./with
done
quietly "$BIN/smalloc-cc" -O2 -Werror -static gather.c -o static
runs_huge ./static # libsmalloc.a
quietly "$BIN/smalloc-cc" -O2 -Werror -fPIC -shared -DTABLE_ONLY gather.c -o libtable.so
! readelf -dW libtable.so | found libsmalloc || fail "a shared library needs libsmalloc"

# ccache hashes the file of -fplugin=: another plugin gives another object.
command -v ccache >/dev/null || skip "no ccache; everything else passed"
export CCACHE_DIR=$tmp/ccache
mkdir -p tree/bin tree/lib/smalloc/llvm-22
cp "$BIN/smalloc-cc" tree/bin/
cp "$PLUGIN" tree/lib/smalloc/llvm-22/SmallocPlugin.so
hits() { ccache --print-stats | awk '$1 == "direct_cache_hit" || $1 == "preprocessed_cache_hit" {n += $2} END {print n + 0}'; }
for round in first second; do
  quietly env SMALLOC_CC="ccache $CLANG" tree/bin/smalloc-cc -O2 -c gather.c -o $round.o
done
[ "$(hits)" = 1 ] || fail "ccache: $(hits) hits instead of 1"
printf 'x' >>tree/lib/smalloc/llvm-22/SmallocPlugin.so
quietly env SMALLOC_CC="ccache $CLANG" tree/bin/smalloc-cc -O2 -c gather.c -o third.o
[ "$(hits)" = 1 ] || fail "ccache gave an object of another plugin"
end_thp
