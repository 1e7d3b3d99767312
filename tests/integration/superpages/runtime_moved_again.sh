#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Big objects grow in turn and so move repeatedly, each time with one more mapping. Every byte is
# moved, and each call asks the kernel to move one mapping. On superpages and on base pages.
. "$(dirname "$0")/../support/lib.sh"
cat >grow.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kArrays = 5, kRounds = 80 };
static const size_t kMost = 100u << 20;
int main(void) {
  unsigned char *array[kArrays];
  size_t bytes[kArrays];
  for (int k = 0; k < kArrays; k++) {
    bytes[k] = (4 << 20) + k * 4096;
    array[k] = malloc(bytes[k]);
    memset(array[k], k + 1, bytes[k]);
  }
  for (unsigned x = 1, round = 0; round < kRounds; round++) {
    x = x * 1103515245 + 12345;
    const int k = (x >> 16) % kArrays;
    size_t to = bytes[k] + bytes[k] / 5 + ((x >> 8) & 0xffff);
    if (to > kMost)
      to = 4 << 20;
    array[k] = realloc(array[k], to);
    if (to > bytes[k])
      memset(array[k] + bytes[k], k + 1, to - bytes[k]);
    bytes[k] = to;
    for (size_t i = 0; i < to; i += 64)
      if (array[k][i] != k + 1 || array[k][to - 1] != k + 1) {
        printf("round %u: byte %zu of %zu is %d, was %d\n", round, i, to, array[k][i], k + 1);
        return 1;
      }
  }
  for (int k = 0; k < kArrays; k++)
    free(array[k]);
  return 0;
}
C
"$CLANG" -O2 grow.c -o grow
for pages in thp base; do
  rm -f s.json
  expect_status 0 env LD_PRELOAD="$PRELOAD" SMALLOC_CONF="heap:superpage,pages:$pages,stats:json,stats_file:s.json" ./grow
  moves=$(python3 -c 'import json; print(json.load(open("s.json"))["counters"]["moves"])')
  echo "pages:$pages: $moves moves"
  [ "$moves" -ge 10 ] || fail "pages:$pages: only $moves moves"
done
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  strace -f -e trace=mremap -o calls -E LD_PRELOAD="$PRELOAD" -E SMALLOC_CONF=heap:superpage ./grow
  pieces=$(grep -c 'MREMAP_DONTUNMAP.* = 0x' calls)
  echo "$pieces pieces"
  [ "$pieces" -gt "$moves" ] || fail "no object had several mappings"
  ! grep 'MREMAP_DONTUNMAP.* = -1' calls || fail "a move was refused at its place"
fi
