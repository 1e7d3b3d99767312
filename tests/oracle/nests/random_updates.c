/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a table updated where a generator says */
#include "nest.h"

static void update(long n, unsigned long entries, unsigned long *table) {
  unsigned s = 88172645u;
  for (long i = 0; i < n; i++) {
    s = next_random(s);
    table[s & (entries - 1)] ^= s;
  }
}

static void number(long n, unsigned long *table) {
  for (long i = 0; i < n; i++)
    table[i] = (unsigned long)i;
}

int main(void) {
  SIZE(n, 1 << 20);
  SIZE(entries, 1 << 19);
  unsigned long *table = ARRAY(unsigned long, entries);
  number(entries, table);
  update(n, (unsigned long)entries, table);
  USE(table[7]);
}
