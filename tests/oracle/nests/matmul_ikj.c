/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * matrix product, all matrices along their rows */
#include "nest.h"

static void product(long m, long n, long k, const double *a, const double *b, double *c) {
  for (long i = 0; i < m; i++)
    for (long l = 0; l < k; l++)
      for (long j = 0; j < n; j++)
        c[i * n + j] += a[i * k + l] * b[l * n + j];
}

int main(void) {
  SIZE(m, 20);
  SIZE(n, 512);
  SIZE(k, 640);
  double *a = ARRAY(double, m *k);
  double *b = ARRAY(double, k *n);
  double *c = ARRAY(double, m *n);
  fill(a, m * k);
  fill(b, k * n);
  fill(c, m * n);
  product(m, n, k, a, b, c);
  USE(c[17]);
}
