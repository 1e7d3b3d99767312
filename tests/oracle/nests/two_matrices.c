/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * gesummv: two matrices side by side */
#include "nest.h"

static void sums(long n, const double *a, const double *b, const double *x, double *y) {
  for (long i = 0; i < n; i++) {
    double s = 0, t = 0;
    for (long j = 0; j < n; j++) {
      s += a[i * n + j] * x[j];
      t += b[i * n + j] * x[j];
    }
    y[i] = s * 1.5 + t;
  }
}

int main(void) {
  SIZE(n, 900);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  double *x = ARRAY(double, n);
  double *y = ARRAY(double, n);
  fill(a, n * n);
  fill(b, n * n);
  fill(x, n);
  sums(n, a, b, x, y);
  USE(y[7]);
}
