/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * objects of their own behind a table of pointers, which a generator draws from */
#include "nest.h"

struct item {
  long value, rest[7];
};

static void make(long n, struct item **table) {
  for (long i = 0; i < n; i++) {
    table[i] = ARRAY(struct item, 1);
    table[i]->value = i;
  }
}

static long draw(long draws, unsigned long n, struct item **table) {
  long sum = 0;
  unsigned s = 2463534242u;
  for (long i = 0; i < draws; i++) {
    s = next_random(s);
    sum += table[s % n]->value;
  }
  return sum;
}

int main(void) {
  SIZE(draws, 1 << 20);
  SIZE(n, 100000);
  struct item **table = ARRAY(struct item *, n);
  make(n, table);
  USE(draw(draws, (unsigned long)n, table));
}
