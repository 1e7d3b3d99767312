// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// replacement: a constant number of live bytes in records of three sizes (48, 256 and 1024 bytes)
// that are used at random. Then one record after another is replaced by one of any size. New
// records fit the gaps if the allocator finds them. Prints live bytes against resident bytes:
// fragmentation.
//   replacement [MiB live] [millions of replacements]
#include "report.h"

enum { kLeastWords = 6, kLeastBytes = 8 * kLeastWords };

static uint64_t *record_new(uint64_t random, uint64_t stamp) {
  uint64_t bytes, *r;
  switch (random % 3) {
  case 0:
    r = bloat_check(malloc(bytes = kLeastBytes));
    break;
  case 1:
    r = bloat_check(malloc(bytes = 256));
    break;
  default:
    r = bloat_check(malloc(bytes = 1024));
  }
  for (uint64_t k = 0; k < bytes / 8; k++)
    r[k] = stamp + k;
  r[0] = bytes;
  return r;
}

int main(int argc, char **argv) {
  uint64_t target = (argc > 1 ? strtoull(argv[1], NULL, 10) : 256) << 20,
           turns = (uint64_t)((argc > 2 ? strtod(argv[2], NULL) : 8) * 1e6), x = 88172645463325252u,
           live = 0, sum = 0;
  size_t capacity = target / kLeastBytes, count = 0;
  uint64_t **record = bloat_check(malloc(capacity * sizeof *record));
  for (; live < target; count++) {
    record[count] = record_new(bloat_next(&x), count);
    live += record[count][0];
  }
  for (size_t i = 0; i < 4 * count; i++)
    sum += record[bloat_next(&x) % count][1 + i % (kLeastWords - 1)]++;
  for (uint64_t turn = 0; turn < turns; turn++) {
    size_t at = bloat_next(&x) % count;
    sum += record[at][1];
    live -= record[at][0];
    free(record[at]);
    record[at] = record_new(bloat_next(&x), turn);
    live += record[at][0];
  }
  bloat_measure(count + count * sizeof *record / 1024, 1024);
  for (size_t i = 0; i < count; i++)
    bloat_live(record[i], record[i][0]);
  bloat_live(record, count * sizeof *record);
  bloat_report("replacement", live + count * sizeof *record, sum);
  return 0;
}
