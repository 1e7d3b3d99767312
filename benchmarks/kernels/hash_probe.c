// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hash_probe: an open-addressing hash table of 16-byte entries, filled to one half, then probed;
// half of the probes miss. The table comes from calloc and is filled in hash order: no proven fill.
//   hash_probe [log2 of the slots] [probes]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
  uint64_t key; // 0: free
  uint64_t value;
};

struct table {
  struct entry *slots;
  uint64_t mask;
  uint64_t used;
};

static uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

static struct entry *table_find(const struct table *t, uint64_t key) {
  uint64_t i = mix(key) & t->mask;
  while (t->slots[i].key != 0 && t->slots[i].key != key)
    i = (i + 1) & t->mask;
  return &t->slots[i];
}

static void table_add(struct table *t, uint64_t key, uint64_t value) {
  struct entry *e = table_find(t, key);
  if (e->key == 0) {
    e->key = key;
    t->used++;
  }
  e->value += value;
}

int main(int argc, char **argv) {
  unsigned log2 = argc > 1 ? (unsigned)atoi(argv[1]) : 26;
  uint64_t slots = (uint64_t)1 << log2, keys = slots / 2;
  uint64_t probes = argc > 2 ? strtoull(argv[2], NULL, 10) : keys;
  struct table t = {calloc(slots, sizeof(struct entry)), slots - 1, 0};
  if (!t.slots) {
    perror("hash_probe");
    return 1;
  }
  for (uint64_t i = 0; i < keys; i++)
    table_add(&t, i + 1, i);
  uint64_t hits = 0, sum = 0;
  for (uint64_t i = 0; i < probes; i++) {
    const struct entry *e = table_find(&t, mix(i) % (2 * keys) + 1);
    if (e->key) {
      hits++;
      sum += e->value;
    }
  }
  printf("hash_probe used=%llu hits=%llu sum=%llu\n", (unsigned long long)t.used,
         (unsigned long long)hits, (unsigned long long)sum);
  free(t.slots);
  return 0;
}
