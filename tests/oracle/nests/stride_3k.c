/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * every 3000th byte, again and again: no prefetcher follows */
#include "nest.h"

static double sum(long rounds, long n, const double *a) {
  double s = 0;
  for (long r = 0; r < rounds; r++)
    for (long i = 0; i < n; i += 375)
      s += a[i] * (double)r;
  return s;
}

int main(void) {
  SIZE(rounds, 200);
  SIZE(n, 1 << 20);
  double *a = ARRAY(double, n);
  fill(a, n);
  USE(sum(rounds, n, a));
}
