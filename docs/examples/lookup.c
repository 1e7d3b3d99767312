/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two large arrays: a table that is read at random places, and a log that is written and read in order.
 * README.md shows what the plugin says of each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  size_t entries = (size_t)1 << (argc > 1 ? atoi(argv[1]) : 25), lookups = 4 * entries;
  uint64_t *table = malloc(entries * sizeof *table);
  uint32_t *log = malloc(entries * sizeof *log);
  if (!table || !log)
    return 1;
  for (size_t i = 0; i < entries; i++)
    table[i] = i * i;
  uint64_t place = 1, sum = 0;
  for (size_t i = 0; i < lookups; i++) {
    place = place * 6364136223846793005u + 1442695040888963407u;
    uint64_t value = table[(place >> 33) % entries];
    sum += value;
    if (i % 8 == 0)
      log[i / 8] = (uint32_t)value;
  }
  for (size_t i = 0; i < lookups / 8; i++)
    sum ^= log[i];
  printf("%llu\n", (unsigned long long)sum);
  free(log);
  free(table);
  return 0;
}
