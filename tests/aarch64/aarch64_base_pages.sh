#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With base pages of 16 or 64 KiB libsmalloc stays off. It warns once if there are settings or sites,
# and the program runs on its own malloc. (qemu-user tells the program another page size.)
. "$(dirname "$0")/cross.bash"
need_library
aarch64-linux-gnu-gcc -O1 "$SMALLOC_SOURCE/tests/aarch64/mixed.c" -o mixed
emulated "" ./mixed >expected
warning='warning: base pages of [0-9]* bytes: libsmalloc needs 4096 and stays off'
for bytes in 16384 65536; do
  export PAGE_BYTES=$bytes
  # Nothing was asked for.
  PRELOADED=$LIB expect_status 0 emulated "" ./mixed
  diff expected out
  [ ! -s err ] || fail "it warns without settings: $(cat err)"
  PRELOADED=$LIB expect_status 0 emulated heap:off ./mixed
  expect_no_match err warning
  for conf in heap:superpage stats:exit program:static+text+stack pages:hugetlb,numa:migrate,only-advised:on; do
    PRELOADED=$LIB expect_status 0 emulated $conf ./mixed
    diff expected out || fail "another result under $conf"
    expect_match err "$warning"
    [ "$(grep -c warning err)" = 1 ] || fail "more than one warning under $conf: $(cat err)"
    expect_no_match err 'heaps: +running'
  done
done
need_plugin
"$CLANG" "${TARGET[@]}" -O2 -fplugin="$PLUGIN" "$SMALLOC_SOURCE/tests/aarch64/mixed.c" -o sites "${LINK_LIBRARY[@]}"
expect_status 0 emulated "" ./sites
diff expected out || fail "another result with sites"
[ "$(grep -c "$warning" err)" = 1 ] || fail "not one warning for a program with sites: $(cat err)"
PAGE_BYTES=4096 expect_status 0 emulated "" ./sites
expect_no_match err warning
