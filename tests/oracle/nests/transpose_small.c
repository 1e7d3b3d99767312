/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * a transpose within the reach: nothing to gain */
#include "nest.h"

static void transpose(long rounds, long n, const double *a, double *b) {
  for (long r = 0; r < rounds; r++)
    for (long i = 0; i < n; i++)
      for (long j = 0; j < n; j++)
        b[j * n + i] = a[i * n + j] + (double)r;
}

int main(void) {
  SIZE(rounds, 50);
  SIZE(n, 100);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  fill(a, n * n);
  transpose(rounds, n, a, b);
  USE(b[7]);
}
