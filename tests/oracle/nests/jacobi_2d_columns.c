/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * five-point stencil, the loops the wrong way round */
#include "nest.h"

static void relax(long n, const double *a, double *b) {
  for (long j = 1; j < n - 1; j++)
    for (long i = 1; i < n - 1; i++)
      b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] +
                            a[(i + 1) * n + j] + a[(i - 1) * n + j]);
}

int main(void) {
  SIZE(n, 800);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  fill(a, n * n);
  fill(b, n * n);
  relax(n, a, b);
  USE(b[7]);
}
