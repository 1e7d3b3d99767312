// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hash_join: a small relation fills a hash table; a large one is read in order, and each row looks
// up its partner. The table is a few hundredths of the memory.
//   hash_join [log2 of the table's slots] [rows of the large relation, in millions] [rounds]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct slot {
  uint64_t key; // 0: free
  uint64_t value;
};

static void *allocate(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    perror("hash_join");
    exit(1);
  }
  return p;
}

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

static void add(struct slot *table, uint64_t mask, uint64_t key) {
  uint64_t i = mix(key) & mask;
  while (table[i].key)
    i = (i + 1) & mask;
  table[i] = (struct slot){key, key * 3};
}

static struct slot *build(uint64_t slots) {
  struct slot *table = allocate(slots * sizeof *table);
  for (uint64_t i = 0; i < slots; i++)
    table[i] = (struct slot){0, 0};
  for (uint64_t key = 1; key <= slots / 2; key++)
    add(table, slots - 1, key);
  return table;
}

static uint64_t *relation(size_t rows, uint64_t keys) {
  uint64_t *row = allocate(rows * sizeof *row), x = 88172645463325252u;
  for (size_t i = 0; i < rows; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    row[i] = (x >> 16) % keys + 1;
  }
  return row;
}

static uint64_t join(const struct slot *table, uint64_t mask, const uint64_t *row, size_t rows) {
  uint64_t sum = 0;
  for (size_t r = 0; r < rows; r++) {
    uint64_t i = mix(row[r]) & mask;
    while (table[i].key && table[i].key != row[r])
      i = (i + 1) & mask;
    sum += table[i].value;
  }
  return sum;
}

int main(int argc, char **argv) {
  uint64_t slots = (uint64_t)1 << (argc > 1 ? atoi(argv[1]) : 20);
  size_t rows = (argc > 2 ? strtoull(argv[2], NULL, 10) : 100) * 1000000,
         rounds = argc > 3 ? strtoull(argv[3], NULL, 10) : 2;
  struct slot *table = build(slots);
  uint64_t *row = relation(rows, slots), sum = 0;
  for (size_t i = 0; i < rounds; i++)
    sum += join(table, slots - 1, row, rows);
  printf("hash_join slots=%llu rows=%zu sum=%llu\n", (unsigned long long)slots, rows,
         (unsigned long long)sum);
  free(table);
  free(row);
  return 0;
}
