/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * lu: imperfect and triangular, down the columns */
#include "nest.h"

static void factorise(long n, long lead, double *a) {
  for (long i = 0; i < n; i++) {
    for (long j = 0; j < i; j++) {
      for (long k = 0; k < j; k++)
        a[i * lead + j] -= a[i * lead + k] * a[k * lead + j];
      a[i * lead + j] /= a[j * lead + j];
    }
    for (long j = i; j < n; j++)
      for (long k = 0; k < i; k++)
        a[i * lead + j] -= a[i * lead + k] * a[k * lead + j];
  }
}

int main(void) {
  SIZE(n, 208);
  SIZE(lead, 1600);
  double *a = ARRAY(double, n *lead);
  fill(a, n * lead);
  factorise(n, lead, a);
  USE(a[7]);
}
