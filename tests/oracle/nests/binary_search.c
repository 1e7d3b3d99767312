/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * binary search in a sorted array */
#include "nest.h"

static long search(long lookups, long n, const unsigned *wanted, const unsigned *sorted) {
  long s = 0;
  for (long i = 0; i < lookups; i++) {
    long low = 0, high = n;
    while (low < high) {
      long middle = low + (high - low) / 2;
      if (sorted[middle] < wanted[i])
        low = middle + 1;
      else
        high = middle;
    }
    s += low;
  }
  return s;
}

static void ascending(long n, unsigned *sorted) {
  for (long i = 0; i < n; i++)
    sorted[i] = (unsigned)i * 4;
}

int main(void) {
  SIZE(lookups, 200000);
  SIZE(n, 1 << 20);
  unsigned *wanted = ARRAY(unsigned, lookups);
  unsigned *sorted = ARRAY(unsigned, n);
  fill_random(wanted, lookups, (unsigned)n * 4);
  ascending(n, sorted);
  USE(search(lookups, n, wanted, sorted));
}
