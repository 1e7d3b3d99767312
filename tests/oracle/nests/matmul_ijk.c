/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * matrix product, the second matrix down its columns */
#include "nest.h"

static void product(long m, long n, long k, const double *a, const double *b, double *c) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      double s = 0;
      for (long l = 0; l < k; l++)
        s += a[i * k + l] * b[l * n + j];
      c[i * n + j] = s;
    }
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
  product(m, n, k, a, b, c);
  USE(c[17]);
}
