#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A cache in its steady state. It grows to about 75 MiB, and then each new entry replaces an old
# one. Entries from before libsmalloc served the site are freed in the heap of the program's malloc,
# and their memory stays unused. The later libsmalloc starts, the more such memory there is.
. "$(dirname "$0")/../support/lib.sh"
need_thp
cat >cache.c <<'C'
#include "most_resident.h"
enum { ENTRIES = 850000, BUCKETS = 1 << 20, REPLACED = 1500000 };
struct entry {
  struct entry *next;
  unsigned long key, value[6];
};
static unsigned long random_bits = 12345;
static unsigned long draw(void) {
  random_bits ^= random_bits << 13, random_bits ^= random_bits >> 7, random_bits ^= random_bits << 17;
  return random_bits;
}
int main(void) {
  struct entry **bucket = calloc(BUCKETS, sizeof *bucket);
  unsigned long sum = 0;
  for (long i = 0; i < ENTRIES + REPLACED; i++) {
    if (i >= ENTRIES) {
      unsigned long b = draw();
      while (!bucket[b % BUCKETS])
        b++;
      struct entry *old = bucket[b % BUCKETS];
      bucket[b % BUCKETS] = old->next;
      sum += old->key;
      free(old);
    }
    struct entry *fresh = malloc(sizeof *fresh), **place = &bucket[draw() % BUCKETS];
    for (struct entry *e = *place; e; e = e->next)
      sum += e->key & 1;
    memset(fresh->value, 1, sizeof fresh->value);
    fresh->key = random_bits;
    fresh->next = *place;
    *place = fresh;
  }
  fprintf(stderr, "%lu\n", most_resident());
  return printf("%lx\n", sum) < 0;
}
C
lib=$(dirname "$LIB")
"$CLANG" -O2 -I"$SMALLOC_SOURCE/tests/integration/fixtures" cache.c -o plain
"$CLANG" -O2 -I"$SMALLOC_SOURCE/tests/integration/fixtures" -fplugin="$PLUGIN" cache.c -o ours -L"$lib" -Wl,--no-as-needed -lsmalloc -Wl,-rpath,"$lib"
./plain >plain.out 2>plain.kib
./ours >ours.out 2>ours.kib
cmp plain.out ours.out || fail "the output differs"
SMALLOC_CONF=stats:exit ./ours >/dev/null 2>stats
expect_match stats 'heaps: +running' # otherwise the test has checked nothing
plain=$(cat plain.kib) ours=$(cat ours.kib)
echo "most resident: glibc $plain KiB, ours $ours KiB"
[ "$ours" -le $((plain + plain / 50)) ] || fail "$ours KiB, glibc $plain KiB"
