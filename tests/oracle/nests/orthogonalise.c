/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * gramschmidt: columns of two matrices, imperfect and triangular */
#include "nest.h"

static void orthogonalise(long m, long n, double *a, double *r, double *q) {
  for (long k = 0; k < n; k++) {
    double s = 0;
    for (long i = 0; i < m; i++)
      s += a[i * n + k] * a[i * n + k];
    r[k * n + k] = s;
    for (long i = 0; i < m; i++)
      q[i * n + k] = a[i * n + k] / s;
    for (long j = k + 1; j < n; j++) {
      double t = 0;
      for (long i = 0; i < m; i++)
        t += q[i * n + k] * a[i * n + j];
      r[k * n + j] = t;
      for (long i = 0; i < m; i++)
        a[i * n + j] -= q[i * n + k] * t;
    }
  }
}

int main(void) {
  SIZE(m, 4000);
  SIZE(n, 72);
  double *a = ARRAY(double, m *n);
  double *r = ARRAY(double, n *n);
  double *q = ARRAY(double, m *n);
  fill(a, m * n);
  orthogonalise(m, n, a, r, q);
  USE(q[7]);
}
