#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that needs no superpage pays next to nothing: at most 0.6 MB of memory, and the heaps never start.
. "$(dirname "$0")/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/runtime_build.inc"
rss() { # the smallest of five
  for i in 1 2 3 4 5; do LD_PRELOAD=$1 grep VmHWM /proc/self/status | tr -dc '0-9\n'; done | sort -n | head -1
}
plain=$(rss "")
for lib in "$LIB" "$PRELOAD"; do
  with=$(rss "$lib")
  echo "$(basename "$lib"): $plain -> $with KiB"
  [ $((with - plain)) -le 600 ] || fail "$((with - plain)) KiB more"
done
SMALLOC_CONF=stats:exit LD_PRELOAD=$LIB grep -q root /etc/passwd 2>err
expect_match err 'never needed'
