/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * seven-point stencil in three dimensions */
#include "nest.h"

static void relax(long n, const double *a, double *b) {
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < n - 1; j++)
      for (long k = 1; k < n - 1; k++)
        b[(i * n + j) * n + k] =
            0.1 * (a[((i + 1) * n + j) * n + k] + a[((i - 1) * n + j) * n + k] +
                   a[(i * n + j + 1) * n + k] + a[(i * n + j - 1) * n + k] +
                   a[(i * n + j) * n + k + 1] + a[(i * n + j) * n + k - 1]);
}

int main(void) {
  SIZE(n, 90);
  double *a = ARRAY(double, n * n * n);
  double *b = ARRAY(double, n * n * n);
  fill(a, n * n * n);
  fill(b, n * n * n);
  relax(n, a, b);
  USE(b[7]);
}
