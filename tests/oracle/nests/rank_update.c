/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * gemver: a rank-2 update, then two products */
#include "nest.h"

static void update(long n, double *a, const double *u, const double *v) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      a[i * n + j] += u[i] * v[j];
}

static void transposed(long n, const double *a, const double *y, double *x) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      x[i] += 0.5 * a[j * n + i] * y[j];
}

static void plain(long n, const double *a, const double *x, double *w) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      w[i] += 1.5 * a[i * n + j] * x[j];
}

int main(void) {
  SIZE(n, 800);
  double *a = ARRAY(double, n *n);
  double *u = ARRAY(double, n);
  double *v = ARRAY(double, n);
  double *w = ARRAY(double, n);
  double *x = ARRAY(double, n);
  fill(a, n * n);
  fill(u, n);
  fill(v, n);
  fill(w, n);
  fill(x, n);
  update(n, a, u, v);
  transposed(n, a, v, x);
  plain(n, a, x, w);
  USE(w[7]);
}
