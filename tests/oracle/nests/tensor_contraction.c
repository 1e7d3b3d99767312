/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * doitgen: a matrix applied to each row of a tensor, in place */
#include "nest.h"

static void contract(long r, long q, long p, double *a, const double *c, double *sum) {
  for (long i = 0; i < r; i++)
    for (long j = 0; j < q; j++) {
      for (long k = 0; k < p; k++) {
        sum[k] = 0;
        for (long l = 0; l < p; l++)
          sum[k] += a[(i * q + j) * p + l] * c[l * p + k];
      }
      for (long k = 0; k < p; k++)
        a[(i * q + j) * p + k] = sum[k];
    }
}

int main(void) {
  SIZE(r, 40);
  SIZE(q, 120);
  SIZE(p, 60);
  double *a = ARRAY(double, r * q * p);
  double *c = ARRAY(double, p *p);
  double *sum = ARRAY(double, p);
  fill(a, r * q * p);
  fill(c, p * p);
  contract(r, q, p, a, c, sum);
  USE(a[7]);
}
