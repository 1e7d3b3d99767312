/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a gather whose entries the program prefetches */
#include "nest.h"

static double gather(long n, const unsigned *index, const double *table) {
  double s = 0;
  for (long i = 0; i < n - 16; i++) {
    PREFETCH(&table[index[i + 16]]);
    s += table[index[i]];
  }
  return s;
}

int main(void) {
  SIZE(n, 1 << 20);
  SIZE(entries, 1 << 19);
  unsigned *index = ARRAY(unsigned, n);
  double *table = ARRAY(double, entries);
  fill_random(index, n, (unsigned)entries);
  fill(table, entries);
  USE(gather(n, index, table));
}
