/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * rows of 12 elements, far apart: no prefetcher learns them */
#include "nest.h"

static double sums(long rounds, long n, long used, long lead, const double *a) {
  double s = 0;
  for (long r = 0; r < rounds; r++)
    for (long i = 0; i < n; i++)
      for (long j = 0; j < used; j++)
        s += a[i * lead + j] * (double)(r + j);
  return s;
}

int main(void) {
  SIZE(rounds, 40);
  SIZE(n, 3000);
  SIZE(used, 12);
  SIZE(lead, 640);
  double *a = ARRAY(double, n *lead);
  fill(a, n * lead);
  USE(sums(rounds, n, used, lead, a));
}
