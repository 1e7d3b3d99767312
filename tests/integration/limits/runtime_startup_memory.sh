#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that needs no superpage uses almost no memory of libsmalloc: at most 96 KiB of its own,
# and the pages of the library's file once. All processes share these pages, and the page cache maps
# them in runs (0.4-0.7 MiB). The heaps never start.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/support/runtime_build.inc"
of() { LD_PRELOAD=$2 awk -v key="$1:" '$1 == key { print $2 }' /proc/self/smaps_rollup; }
[ -r /proc/self/smaps_rollup ] || skip "no /proc/self/smaps_rollup here"
plain=$(of Anonymous "")
for lib in "$LIB" "$PRELOAD"; do
  with=$(of Anonymous "$lib")
  echo "$(basename "$lib"): $plain -> $with KiB of its own; resident: $(of Rss "") -> $(of Rss "$lib") KiB"
  [ $((with - plain)) -le 96 ] || fail "$((with - plain)) KiB of its own more"
done
SMALLOC_CONF=stats:exit LD_PRELOAD=$LIB grep -q root /etc/passwd 2>err
expect_match err 'never needed'
