#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gzip: a compressor whose tables fit the TLB's reach. The prediction is "no gain" (as in Magee and
# Qasem 2009): the plugin must choose no superpages, and it must be neither slower nor bigger.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=gzip
build_in() {
  ./configure --disable-dependency-tracking
  make -j1 V=1
}
test_in() {
  local data=$SMALLOC_WORK/inputs/text-8.txt
  mkdir -p "$SMALLOC_WORK/inputs"
  [ -s "$data" ] || python3 "$real_dir/generate.py" text 8 >"$data"
  ./gzip -9c "$data" | ./gzip -dc | cmp - "$data"
  make -j1 check
}
prepare() {
  [ -s text-64.txt ] || { python3 "$real_dir/generate.py" text 64 >text-64.tmp && mv text-64.tmp text-64.txt; }
  [ -s text-8.txt ] || { python3 "$real_dir/generate.py" text 8 >text-8.tmp && mv text-8.tmp text-8.txt; }
}
workload() { echo "$SMALLOC_WORK/$package/$1/gzip -nc $inputs/$([ "$quick" ] && echo text-8 || echo text-64).txt"; }
real_main "$@"
