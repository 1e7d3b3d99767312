/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * electromagnetic fields: three grids, four nests in a loop over time */
#include "nest.h"

static void fields(long steps, long n, long m, double *ex, double *ey, double *hz,
                   const double *source) {
  for (long t = 0; t < steps; t++) {
    for (long j = 0; j < m; j++)
      ey[j] = source[t];
    for (long i = 1; i < n; i++)
      for (long j = 0; j < m; j++)
        ey[i * m + j] -= 0.5 * (hz[i * m + j] - hz[(i - 1) * m + j]);
    for (long i = 0; i < n; i++)
      for (long j = 1; j < m; j++)
        ex[i * m + j] -= 0.5 * (hz[i * m + j] - hz[i * m + j - 1]);
    for (long i = 0; i < n - 1; i++)
      for (long j = 0; j < m - 1; j++)
        hz[i * m + j] -=
            0.7 * (ex[i * m + j + 1] - ex[i * m + j] + ey[(i + 1) * m + j] - ey[i * m + j]);
  }
}

int main(void) {
  SIZE(steps, 9);
  SIZE(n, 500);
  SIZE(m, 600);
  double *ex = ARRAY(double, n *m);
  double *ey = ARRAY(double, n *m);
  double *hz = ARRAY(double, n *m);
  double *source = ARRAY(double, steps);
  fill(ex, n * m);
  fill(ey, n * m);
  fill(hz, n * m);
  fill(source, steps);
  fields(steps, n, m, ex, ey, hz, source);
  USE(hz[7]);
}
