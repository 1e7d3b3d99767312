// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// replacement: a steady number of live bytes in records of three sizes (48, 256 and 1024 bytes); again and again one is
// read, dies and makes room for a new one, of any of the three. Holes are filled by what comes next, if the allocator
// finds them. Prints live bytes against resident bytes: fragmentation.
//   replacement [MiB live] [millions of replacements]
#include "report.h"

struct record {
  uint32_t bytes, check;
};

static struct record *record_new(uint64_t random, uint32_t check) {
  static const uint32_t kBytes[] = {48, 256, 1024};
  uint32_t bytes = kBytes[random % 3];
  struct record *r = bloat_check(malloc(bytes));
  memset(r, (int)random, bytes);
  r->bytes = bytes;
  r->check = check;
  return r;
}

int main(int argc, char **argv) {
  uint64_t target = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20,
           turns = (uint64_t)((argc > 2 ? strtod(argv[2], NULL) : 8) * 1e6), x = 88172645463325252u,
           live = 0, sum = 0;
  size_t capacity = target / 48, count = 0;
  struct record **record = bloat_check(malloc(capacity * sizeof *record));
  for (; live < target; count++) {
    record[count] = record_new(bloat_next(&x), (uint32_t)count);
    live += record[count]->bytes;
  }
  for (uint64_t turn = 0; turn < turns; turn++) {
    size_t at = bloat_next(&x) % count;
    sum += record[at]->check;
    live -= record[at]->bytes;
    free(record[at]);
    record[at] = record_new(bloat_next(&x), (uint32_t)turn);
    live += record[at]->bytes;
  }
  bloat_report("replacement", live + count * sizeof *record, sum);
  return 0;
}
