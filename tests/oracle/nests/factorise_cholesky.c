/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cholesky: imperfect and triangular, along the rows */
#include "nest.h"

static void factorise(long n, long lead, double *a) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < i; j++) {
      double s = a[i * lead + j];
      for (long k = 0; k < j; k++)
        s -= a[i * lead + k] * a[j * lead + k];
      a[i * lead + j] = s / a[j * lead + j];
    }
    double d = a[i * lead + i];
    for (long k = 0; k < i; k++)
      d -= a[i * lead + k] * a[i * lead + k];
    a[i * lead + i] = d;
  }
}

int main(void) {
  SIZE(n, 256);
  SIZE(lead, 1056);
  double *a = ARRAY(double, n *lead);
  fill(a, n * lead);
  factorise(n, lead, a);
  USE(a[7]);
}
