#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Small objects in three GiB. free and realloc find the word of an object's page in any of them, not
# only in the one that was added last, and return the object to its size. The test frees objects of
# three sizes, sorted by address, from both ends and resizes them from within; the new objects
# overlap no other.
. "$(dirname "$0")/../support/lib.sh"
[ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -gt $((4 << 20)) ] || skip "4 GiB of free memory are not to be had"
cat >parts.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kObjects = 3000000 };
static char *object[kObjects];
static uint32_t bytes[kObjects];
static const uint32_t sizes[] = {448, 768, 1024};
static void make(uint32_t i, uint32_t n) {
  bytes[i] = n;
  object[i] = malloc(n);
  memcpy(object[i], &i, sizeof i);
  memcpy(object[i] + n - sizeof i, &i, sizeof i);
}
static void check(uint32_t i) {
  if (memcmp(object[i], &i, sizeof i) || memcmp(object[i] + bytes[i] - sizeof i, &i, sizeof i)) {
    printf("object %u of %u bytes is another's\n", i, bytes[i]);
    exit(1);
  }
}
static void resize(uint32_t i, uint32_t n) {
  check(i);
  object[i] = realloc(object[i], n);
  bytes[i] = n;
  memcpy(object[i] + n - sizeof i, &i, sizeof i);
}
int main(void) {
  uintptr_t least = UINTPTR_MAX, most = 0;
  for (uint32_t i = 0; i < kObjects; i++) {
    make(i, sizes[i % 3]);
    uintptr_t at = (uintptr_t)object[i];
    least = at < least ? at : least;
    most = at > most ? at : most;
  }
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = round; i < kObjects / 2; i += 5) {
      check(i), check(kObjects - 1 - i);
      free(object[i]), free(object[kObjects - 1 - i]);
      make(i, sizes[(i + round) % 3]), make(kObjects - 1 - i, sizes[(i + round + 1) % 3]);
    }
    for (uint32_t i = 2; i < kObjects; i += 7)
      resize(i, sizes[(i + round + 2) % 3]);
  }
  for (uint32_t i = 0; i < kObjects; i++)
    check(i);
  for (uint32_t i = 0; i < kObjects; i++)
    free(object[i]);
  printf("whole GiB spanned: %lu\n", (unsigned long)((most >> 30) - (least >> 30)));
  return 0;
}
C
"$CLANG" -O2 parts.c -o parts -fno-builtin
spanned=$(LD_PRELOAD="$PRELOAD" SMALLOC_CONF=heap:superpage ./parts) || fail "$spanned"
echo "$spanned"
[ "${spanned##* }" -ge 2 ] || fail "the objects lie in less than three parts: $spanned"
