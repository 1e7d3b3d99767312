/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * mvt: a matrix along its rows, then down its columns */
#include "nest.h"

static void rows(long n, const double *a, const double *y, double *x) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      x[i] += a[i * n + j] * y[j];
}

static void columns(long n, const double *a, const double *y, double *x) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      x[i] += a[j * n + i] * y[j];
}

int main(void) {
  SIZE(n, 1000);
  double *a = ARRAY(double, n *n);
  double *x = ARRAY(double, n);
  double *y = ARRAY(double, n);
  double *z = ARRAY(double, n);
  fill(a, n * n);
  fill(x, n);
  fill(y, n);
  fill(z, n);
  rows(n, a, y, x);
  columns(n, a, x, z);
  USE(z[7]);
}
