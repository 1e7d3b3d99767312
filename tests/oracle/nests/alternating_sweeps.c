/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * adi: sweeps down the columns and back, then along the rows */
#include "nest.h"

static void columns(long n, const double *u, double *v, double *p, double *q) {
  for (long i = 1; i < n - 1; i++) {
    v[i] = 1;
    p[i * n] = 0;
    q[i * n] = v[i];
    for (long j = 1; j < n - 1; j++) {
      p[i * n + j] = -0.3 / (0.3 * p[i * n + j - 1] + 1.6);
      q[i * n + j] = (u[j * n + i - 1] + u[j * n + i] + u[j * n + i + 1] - 0.3 * q[i * n + j - 1]) /
                     (0.3 * p[i * n + j - 1] + 1.6);
    }
    v[(n - 1) * n + i] = 1;
    for (long j = n - 2; j >= 1; j--)
      v[j * n + i] = p[i * n + j] * v[(j + 1) * n + i] + q[i * n + j];
  }
}

static void rows(long n, double *u, const double *v, double *p, double *q) {
  for (long i = 1; i < n - 1; i++) {
    for (long j = 1; j < n - 1; j++) {
      p[i * n + j] = -0.3 / (0.3 * p[i * n + j - 1] + 1.6);
      q[i * n + j] =
          (v[(i - 1) * n + j] + v[i * n + j] + v[(i + 1) * n + j] - 0.3 * q[i * n + j - 1]) /
          (0.3 * p[i * n + j - 1] + 1.6);
    }
    for (long j = n - 2; j >= 1; j--)
      u[i * n + j] = p[i * n + j] * u[i * n + j + 1] + q[i * n + j];
  }
}

int main(void) {
  SIZE(n, 600);
  double *u = ARRAY(double, n *n);
  double *v = ARRAY(double, n *n);
  double *p = ARRAY(double, n *n);
  double *q = ARRAY(double, n *n);
  fill(u, n * n);
  fill(v, n * n);
  fill(p, n * n);
  fill(q, n * n);
  columns(n, u, v, p, q);
  rows(n, u, v, p, q);
  USE(u[7]);
}
