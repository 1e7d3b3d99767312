/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * five-point stencil on two grids */
#include "nest.h"

static void relax(long steps, long n, double *a, double *b) {
  for (long t = 0; t < steps; t++) {
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < n - 1; j++)
        b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] +
                              a[(i + 1) * n + j] + a[(i - 1) * n + j]);
    for (long i = 1; i < n - 1; i++)
      for (long j = 1; j < n - 1; j++)
        a[i * n + j] = 0.2 * (b[i * n + j] + b[i * n + j - 1] + b[i * n + j + 1] +
                              b[(i + 1) * n + j] + b[(i - 1) * n + j]);
  }
}

int main(void) {
  SIZE(steps, 9);
  SIZE(n, 520);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  fill(a, n * n);
  fill(b, n * n);
  relax(steps, n, a, b);
  USE(a[7]);
}
