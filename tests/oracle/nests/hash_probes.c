/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * open addressing: a hashed start, then steps of one */
#include "nest.h"

static void insert(long n, unsigned long slots, const unsigned *key, unsigned *slot) {
  for (long i = 0; i < n; i++) {
    unsigned long at = key[i] * 2654435761u & (slots - 1);
    while (slot[at])
      at = (at + 1) & (slots - 1);
    slot[at] = key[i] + 1;
  }
}

static long lookup(long n, unsigned long slots, const unsigned *key, const unsigned *slot) {
  long found = 0;
  for (long i = 0; i < n; i++) {
    unsigned long at = (key[i] ^ 1) * 2654435761u & (slots - 1);
    while (slot[at] && slot[at] != (key[i] ^ 1) + 1)
      at = (at + 1) & (slots - 1);
    found += slot[at] != 0;
  }
  return found;
}

static void zero(long n, unsigned *slot) {
  for (long i = 0; i < n; i++)
    slot[i] = 0;
}

int main(void) {
  SIZE(n, 1 << 19);
  SIZE(slots, 1 << 20);
  unsigned *key = ARRAY(unsigned, n);
  unsigned *slot = ARRAY(unsigned, slots);
  fill_random(key, n, 1u << 30);
  zero(slots, slot);
  insert(n, (unsigned long)slots, key, slot);
  USE(lookup(n, (unsigned long)slots, key, slot));
}
