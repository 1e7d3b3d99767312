/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * syrk: C += A A', the lower triangle */
#include "nest.h"

static void update(long n, long m, long lead, const double *a, double *c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      for (long k = 0; k < m; k++)
        c[i * n + j] += a[i * lead + k] * a[j * lead + k];
}

int main(void) {
  SIZE(n, 256);
  SIZE(m, 96);
  SIZE(lead, 1056);
  double *a = ARRAY(double, n *lead);
  double *c = ARRAY(double, n *n);
  fill(a, n * lead);
  fill(c, n * n);
  update(n, m, lead, a, c);
  USE(c[7]);
}
