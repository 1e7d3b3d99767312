/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * columns of 50 pages: they stay in the TLB from one to the next */
#include "nest.h"

static void sums(long n, long m, const double *a, double *out) {
  for (long j = 0; j < m; j++) {
    double s = 0;
    for (long i = 0; i < n; i++)
      s += a[i * m + j];
    out[j] = s;
  }
}

int main(void) {
  SIZE(n, 50);
  SIZE(m, 20000);
  double *a = ARRAY(double, n *m);
  double *out = ARRAY(double, m);
  fill(a, n * m);
  sums(n, m, a, out);
  USE(out[7]);
}
