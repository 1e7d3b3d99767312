/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * two matrix products, one after the other */
#include "nest.h"

static void first(long m, long n, const double *a, const double *b, double *t) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      double s = 0;
      for (long k = 0; k < n; k++)
        s += a[i * n + k] * b[k * n + j];
      t[i * n + j] = s;
    }
}

static void second(long m, long n, const double *t, const double *c, double *d) {
  for (long i = 0; i < m; i++)
    for (long k = 0; k < n; k++)
      for (long j = 0; j < n; j++)
        d[i * n + j] += t[i * n + k] * c[k * n + j];
}

int main(void) {
  SIZE(m, 20);
  SIZE(n, 520);
  double *a = ARRAY(double, m *n);
  double *b = ARRAY(double, n *n);
  double *t = ARRAY(double, m *n);
  double *c = ARRAY(double, n *n);
  double *d = ARRAY(double, m *n);
  fill(a, m * n);
  fill(b, n * n);
  fill(c, n * n);
  fill(d, m * n);
  first(m, n, a, b, t);
  second(m, n, t, c, d);
  USE(d[3]);
}
