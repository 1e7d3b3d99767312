/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * trmm: B = A'B with a triangular A, down the columns of A */
#include "nest.h"

static void product(long n, long m, long lead, const double *a, double *b) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      for (long k = i + 1; k < n; k++)
        b[i * m + j] += a[k * lead + i] * b[k * m + j];
}

int main(void) {
  SIZE(n, 320);
  SIZE(m, 40);
  SIZE(lead, 1024);
  double *a = ARRAY(double, n *lead);
  double *b = ARRAY(double, n *m);
  fill(a, n * lead);
  fill(b, n * m);
  product(n, m, lead, a, b);
  USE(b[7]);
}
