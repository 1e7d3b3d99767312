#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Beside jemalloc and mimalloc. Preloaded in front of a linked libsmalloc, the peer serves
# everything and the program runs. With libsmalloc first, the peer serves the rest and libsmalloc's
# sites keep their superpages. With linked peers, the first library in the link line serves.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_gather
quietly "$CLANG" -O2 -fplugin="$PLUGIN" gather.c -o without
quietly "$CLANG" -O2 -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" -o with
peers=0
for peer in libjemalloc.so.2 libmimalloc.so.2.0 libmimalloc.so.3 libtcmalloc_minimal.so.4; do
  path=$("$CLANG" -print-file-name="$peer") # the bare name if the file does not exist
  [ -e "$path" ] || continue
  peers=$((peers + 1))
  expect_status 0 env LD_PRELOAD="$path" ./with
  expect_match out "^$SUM huge_kib"
  runs_huge env LD_PRELOAD="$LIB:$path" ./without
  runs_huge env LD_PRELOAD="$LIB:$path" ./with
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" gather.c "${LINK_LIBRARY[@]}" "$path" -o both
  runs_huge ./both
  quietly "$CLANG" -O2 -fplugin="$PLUGIN" gather.c "$path" "${LINK_LIBRARY[@]}" -o both
  expect_status 0 ./both
  expect_match out "^$SUM huge_kib"
done
[ "$peers" -gt 0 ] || skip "no other allocator is installed"
end_thp
