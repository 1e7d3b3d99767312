#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# xz: the match finder's hash and tree tables are hot and dense on big input: a gain. On a 4 KiB input the same tables
# are reserved (640 MiB with -9) and hardly touched: superpages for them would be bloat, and extra_check forbids it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
package=xz-utils
build_in() {
  ./configure --disable-dependency-tracking --disable-shared --enable-static --disable-nls --disable-doc --disable-scripts
  make -j1 V=1
}
test_in() { make -j1 check; }
prepare() {
  local n
  for n in 40 12; do
    [ -s text-$n.txt ] || { python3 "$real_dir/generate.py" text $n >text-$n.tmp && mv text-$n.tmp text-$n.txt; }
  done
  head -c 4096 text-12.txt >text-4k.txt
}
# One thread and a dictionary longer than the input: the binary-tree table (8 bytes an input byte) is hot.
workload() {
  echo "$SMALLOC_WORK/$package/$1/src/xz/xz -T1 -c --lzma2=preset=1,dict=128MiB,mf=bt4,nice=32,depth=8" \
    "$inputs/text-$([ "$quick" ] && echo 12 || echo 40).txt"
}
extra_check() {
  local plain ours
  plain=$(peak_kib "$SMALLOC_WORK/$package/plain/src/xz/xz" -T1 -9 -c "$inputs/text-4k.txt")
  ours=$(peak_kib "$SMALLOC_WORK/$package/ours/src/xz/xz" -T1 -9 -c "$inputs/text-4k.txt")
  [ "$ours" -le $((plain + (plain / 50 > 512 ? plain / 50 : 512))) ] ||
    die "xz -9 on 4 KiB: peak memory $plain KiB plain, $ours KiB with the plugin"
  say "xz -9 on 4 KiB: peak memory $plain KiB plain, $ours KiB with the plugin"
}
real_main "$@"
