#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# bzip2: block sorting in a few megabytes. The prediction is "no gain" beyond noise: neither slower
# nor bigger.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=bzip2
# shellcheck disable=SC2086
# Linked statically with its own library: Debian's rule makes a shared one, and the system's would
# be used instead.
build_in() {
  make -j1 CC="$CC" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64" LDFLAGS="$LDFLAGS" libbz2.a bzip2.o
  $CC $CFLAGS -o bzip2 bzip2.o libbz2.a $LDFLAGS
}
test_in() {
  ./bzip2 -1 <sample1.ref | cmp - sample1.bz2
  ./bzip2 -2 <sample2.ref | cmp - sample2.bz2
  ./bzip2 -3 <sample3.ref | cmp - sample3.bz2
  ./bzip2 -d <sample1.bz2 | cmp - sample1.ref
  ./bzip2 -d <sample2.bz2 | cmp - sample2.ref
  ./bzip2 -ds <sample3.bz2 | cmp - sample3.ref
}
prepare() {
  [ -s text-64.txt ] || { python3 "$real_dir/generate.py" text 64 >text-64.tmp && mv text-64.tmp text-64.txt; }
  [ -s text-8.txt ] || { python3 "$real_dir/generate.py" text 8 >text-8.tmp && mv text-8.tmp text-8.txt; }
}
workload() { echo "$SMALLOC_WORK/$package/$1/bzip2 -c $inputs/$([ "$quick" ] && echo text-8 || echo text-64).txt"; }
real_main "$@"
