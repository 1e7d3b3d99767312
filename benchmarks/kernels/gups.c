// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gups: random read-modify-write of one table, as HPC Challenge RandomAccess: a new page each time.
// The same update stream applied twice restores the table, which is how the result is verified.
//   gups [log2 of the entries] [updates for each entry, in percent]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t next(uint64_t x) {
  x ^= x << 13;
  x ^= x >> 7;
  return x ^ (x << 17);
}

static void update(uint64_t *table, unsigned log2, uint64_t count) {
  uint64_t x = 88172645463325252u;
  for (uint64_t i = 0; i < count; i++) {
    x = next(x);
    table[x >> (64 - log2)] ^= x;
  }
}

int main(int argc, char **argv) {
  unsigned log2 = argc > 1 ? (unsigned)atoi(argv[1]) : 27;
  uint64_t percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 40;
  uint64_t entries = (uint64_t)1 << log2, count = entries / 100 * percent, wrong = 0, sum = 0;
  uint64_t *table = malloc(entries * sizeof *table);
  if (!table) {
    perror("gups");
    return 1;
  }
  for (uint64_t i = 0; i < entries; i++)
    table[i] = i;
  update(table, log2, count);
  for (uint64_t i = 0; i < entries; i += 4099)
    sum = sum * 31 + table[i];
  update(table, log2, count);
  for (uint64_t i = 0; i < entries; i++)
    wrong += table[i] != i;
  printf("gups entries=%llu updates=%llu checksum=%016llx wrong=%llu\n",
         (unsigned long long)entries, (unsigned long long)(2 * count), (unsigned long long)sum,
         (unsigned long long)wrong);
  free(table);
  return wrong != 0;
}
