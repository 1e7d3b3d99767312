/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * indices of indices */
#include "nest.h"

static double gather(long n, const unsigned *outer, const unsigned *inner, const double *table) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += table[inner[outer[i]]];
  return s;
}

int main(void) {
  SIZE(n, 1 << 20);
  SIZE(entries, 1 << 20);
  unsigned *outer = ARRAY(unsigned, n);
  unsigned *inner = ARRAY(unsigned, entries);
  double *table = ARRAY(double, entries);
  fill_random(outer, n, (unsigned)entries);
  fill_random(inner, entries, (unsigned)entries);
  fill(table, entries);
  USE(gather(n, outer, inner, table));
}
