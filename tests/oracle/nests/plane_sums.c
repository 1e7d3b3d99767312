/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sums over the slowest dimension of a volume */
#include "nest.h"

static void sums(long n, long m, const double *volume, double *out) {
  for (long j = 0; j < m; j++) {
    double s = 0;
    for (long i = 0; i < n; i++)
      s += volume[i * m + j];
    out[j] = s;
  }
}

int main(void) {
  SIZE(n, 200);
  SIZE(m, 60 * 60);
  double *volume = ARRAY(double, n *m);
  double *out = ARRAY(double, m);
  fill(volume, n * m);
  sums(n, m, volume, out);
  USE(out[7]);
}
