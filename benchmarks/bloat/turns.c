// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// turns: two sites of a program alternate, each with one size. All entries of one are freed, in
// random order, while those of the other are allocated; then the reverse, for several rounds. Gaps
// of one size fit the other only after merging. Prints live bytes against resident bytes:
// fragmentation.
//   turns [thousands of entries] [turns] [bytes of the one] [bytes of the other]
#include "report.h"

struct entry {
  struct entry *next;
  uint32_t key, bytes;
  uint64_t value[];
};

static struct entry *entry_fill(struct entry *e, uint32_t key, uint32_t bytes) {
  memset(bloat_check(e), (int)key, bytes);
  e->key = key;
  e->bytes = bytes;
  return e;
}
__attribute__((noinline)) static struct entry *one_new(uint32_t key, uint32_t bytes) {
  return entry_fill(malloc(bytes), key, bytes);
}
__attribute__((noinline)) static struct entry *other_new(uint32_t key, uint32_t bytes) {
  return entry_fill(malloc(bytes), key, bytes);
}

int main(int argc, char **argv) {
  const size_t count = (argc > 1 ? strtoull(argv[1], NULL, 10) : 600) * 1000;
  const unsigned turns = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
  const uint32_t bytes[2] = {argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 112,
                             argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 176};
  uint64_t x = 88172645463325252u, sum = 0, live = 0;
  struct entry **entry = bloat_check(malloc(count * sizeof *entry));
  for (size_t i = 0; i < count; i++) {
    entry[i] = one_new((uint32_t)i, bytes[0]);
    entry[i]->next = entry[i / 2];
  }
  for (unsigned turn = 1; turn < turns; turn++)
    for (size_t i = 0; i < count;
         i++) { /* entries still to free: from i on; a random one is next */
      const size_t at = i + bloat_next(&x) % (count - i);
      struct entry *old = entry[at];
      entry[at] = entry[i];
      sum += old->value[0] + old->key;
      free(old);
      entry[i] = turn % 2 ? other_new((uint32_t)i, bytes[1]) : one_new((uint32_t)i, bytes[0]);
      entry[i]->next = entry[i / 2];
    }
  for (size_t i = 0; i < count; i++)
    live += entry[i]->bytes;
  bloat_measure(count + count * sizeof *entry / 4096 + 2, 4096);
  for (size_t i = 0; i < count; i++)
    bloat_live(entry[i], entry[i]->bytes);
  for (size_t at = 0; at < count * sizeof *entry; at += 4096)
    bloat_live((char *)entry + at, 1);
  bloat_report("turns", live + count * sizeof *entry, sum);
  return 0;
}
