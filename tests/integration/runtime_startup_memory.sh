#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that needs no superpage pays next to nothing: at most 0.6 MB of memory, and the heaps never start.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
rss() { # the median of nine: what the page cache holds around a fault differs from run to run
  for i in 1 2 3 4 5 6 7 8 9; do LD_PRELOAD=$1 grep VmHWM /proc/self/status | tr -dc '0-9\n'; done | sort -n | sed -n 5p
}
plain=$(rss "")
for lib in "$LIB" "$PRELOAD"; do
  with=$(rss "$lib")
  echo "$(basename "$lib"): $plain -> $with KiB"
  [ $((with - plain)) -le 600 ] || fail "$((with - plain)) KiB more"
done
SMALLOC_CONF=stats:exit LD_PRELOAD=$LIB grep -q root /etc/passwd 2>err
expect_match err 'never needed'
