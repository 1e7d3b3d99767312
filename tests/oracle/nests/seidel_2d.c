/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * nine-point stencil in place */
#include "nest.h"

static void relax(long steps, long n, double *a) {
  for (long t = 0; t < steps; t++)
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < n - 1; j++)
        a[i * n + j] = (a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1] +
                        a[i * n + j - 1] + a[i * n + j] + a[i * n + j + 1] +
                        a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] + a[(i + 1) * n + j + 1]) /
                       9;
}

int main(void) {
  SIZE(steps, 9);
  SIZE(n, 600);
  double *a = ARRAY(double, n *n);
  fill(a, n * n);
  relax(steps, n, a);
  USE(a[7]);
}
