// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// alternating: a constant number of entries, of which random ones are replaced; in long phases by
// entries of one size, then of another, and so on. Gaps of one size fit the other only after
// merging. Prints live bytes against resident bytes: fragmentation.
//   alternating [thousands of entries] [phases] [turnovers of a phase] [bytes of one] [of other]
#include "report.h"

struct entry {
  struct entry *next;
  uint32_t key, bytes;
  uint64_t value[];
};

__attribute__((noinline)) static struct entry *entry_new(uint32_t key, uint32_t bytes) {
  struct entry *e = bloat_check(malloc(bytes));
  memset(e, (int)key, bytes);
  e->key = key;
  e->bytes = bytes;
  return e;
}

int main(int argc, char **argv) {
  const size_t count = (argc > 1 ? strtoull(argv[1], NULL, 10) : 600) * 1000;
  const unsigned phases = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;
  const uint64_t turns = (uint64_t)((argc > 3 ? strtod(argv[3], NULL) : 1.75) * (double)count);
  const uint32_t bytes[2] = {argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 112,
                             argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 176};
  uint64_t x = 88172645463325252u, sum = 0, live = 0;
  struct entry **entry = bloat_check(malloc(count * sizeof *entry));
  for (size_t i = 0; i < count; i++) {
    entry[i] = entry_new((uint32_t)i, bytes[0]);
    entry[i]->next = entry[i / 2];
  }
  for (unsigned phase = 0; phase < phases; phase++)
    for (uint64_t turn = 0; turn < turns; turn++) {
      struct entry **place = &entry[bloat_next(&x) % count];
      sum += (*place)->value[0] + (*place)->key;
      free(*place);
      *place = entry_new((uint32_t)turn, bytes[phase % 2]);
      (*place)->next = entry[turn % count];
    }
  for (size_t i = 0; i < count; i++)
    live += entry[i]->bytes;
  bloat_measure(count + count * sizeof *entry / 4096 + 2, 4096);
  for (size_t i = 0; i < count; i++)
    bloat_live(entry[i], entry[i]->bytes);
  for (size_t at = 0; at < count * sizeof *entry; at += 4096)
    bloat_live((char *)entry + at, 1);
  bloat_report("alternating", live + count * sizeof *entry, sum);
  return 0;
}
