/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a list in random order, walked many times */
#include "nest.h"

struct node {
  struct node *next;
  long value;
};

static struct node *chain(long n, unsigned *order, struct node *pool) {
  unsigned s = 12345u;
  for (long i = 0; i < n; i++)
    order[i] = (unsigned)i;
  for (long i = n - 1; i > 0; i--) {
    s = next_random(s);
    long j = s % (unsigned long)(i + 1);
    unsigned t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (long i = 0; i + 1 < n; i++) {
    pool[order[i]].next = &pool[order[i + 1]];
    pool[order[i]].value = i;
  }
  pool[order[n - 1]].next = NULL;
  return &pool[order[0]];
}

static long walk(long rounds, const struct node *first) {
  long s = 0;
  for (long r = 0; r < rounds; r++)
    for (const struct node *one = first; one; one = one->next)
      s += one->value;
  return s;
}

int main(void) {
  SIZE(rounds, 10);
  SIZE(n, 200000);
  unsigned *order = ARRAY(unsigned, n);
  struct node *pool = ARRAY(struct node, n);
  USE(walk(rounds, chain(n, order, pool)));
}
