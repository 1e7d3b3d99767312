/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * hashing with chains of nodes */
#include "nest.h"

struct node {
  struct node *next;
  unsigned key, value;
};

static void insert(long n, unsigned long buckets, const unsigned *key, struct node **bucket) {
  for (long i = 0; i < n; i++) {
    struct node *one = malloc(sizeof *one);
    unsigned long at = key[i] * 2654435761u >> 7 & (buckets - 1);
    one->key = key[i];
    one->value = (unsigned)i;
    one->next = bucket[at];
    bucket[at] = one;
  }
}

static long lookup(long n, unsigned long buckets, const unsigned *key, struct node **bucket) {
  long found = 0;
  for (long i = 0; i < n; i++)
    for (struct node *one = bucket[key[n - 1 - i] * 2654435761u >> 7 & (buckets - 1)]; one;
         one = one->next)
      if (one->key == key[n - 1 - i]) {
        found += one->value;
        break;
      }
  return found;
}

static void empty(long n, struct node **bucket) {
  for (long i = 0; i < n; i++)
    bucket[i] = NULL;
}

int main(void) {
  SIZE(n, 300000);
  SIZE(buckets, 1 << 19);
  unsigned *key = ARRAY(unsigned, n);
  struct node **bucket = ARRAY(struct node *, buckets);
  fill_random(key, n, 1u << 30);
  empty(buckets, bucket);
  insert(n, (unsigned long)buckets, key, bucket);
  USE(lookup(n, (unsigned long)buckets, key, bucket));
}
