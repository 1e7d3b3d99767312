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

# A process that stays small although it requests much looks at its size seldom: a look takes as long
# as a hundred calls of malloc.
if command -v strace >/dev/null && command -v "$CLANG" >/dev/null; then
  cat >churn.c <<'C'
#include <stdlib.h>
int main(void) {
  for (int i = 0; i < 20000; i++) {
    char *volatile p = malloc(65536);
    p[i] = 1;
    free(p);
  }
}
C
  "$CLANG" -O1 churn.c -o churn
  LD_PRELOAD=$LIB strace -f -e trace=openat -o trace ./churn
  looks=$(grep -c '"/proc/self/' trace)
  echo "1,250 MiB requested, at most 64 KiB at a time: $looks files of /proc read"
  [ "$looks" -le 125 ] || fail "$looks files of /proc read"
else
  echo "no strace or no $CLANG: the looks of a small process were not counted"
fi
