/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * atax: y = A'(A x), an imperfect nest */
#include "nest.h"

static void atax(long m, long n, const double *a, const double *x, double *y) {
  for (long i = 0; i < m; i++) {
    double t = 0;
    for (long j = 0; j < n; j++)
      t += a[i * n + j] * x[j];
    for (long j = 0; j < n; j++)
      y[j] += a[i * n + j] * t;
  }
}

int main(void) {
  SIZE(m, 900);
  SIZE(n, 1100);
  double *a = ARRAY(double, m *n);
  double *x = ARRAY(double, n);
  double *y = ARRAY(double, n);
  fill(a, m * n);
  fill(x, n);
  fill(y, n);
  atax(m, n, a, x, y);
  USE(y[7]);
}
