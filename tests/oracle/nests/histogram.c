/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * counts of random keys: a scatter */
#include "nest.h"

static void count(long n, const unsigned *key, unsigned *bucket) {
  for (long i = 0; i < n; i++)
    bucket[key[i]]++;
}

static void zero(long n, unsigned *bucket) {
  for (long i = 0; i < n; i++)
    bucket[i] = (unsigned)i & 3;
}

int main(void) {
  SIZE(n, 1 << 20);
  SIZE(buckets, 1 << 20);
  unsigned *key = ARRAY(unsigned, n);
  unsigned *bucket = ARRAY(unsigned, buckets);
  fill_random(key, n, (unsigned)buckets);
  zero(buckets, bucket);
  count(n, key, bucket);
  USE(bucket[7]);
}
