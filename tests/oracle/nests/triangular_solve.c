/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * trisolv: forward substitution along the rows */
#include "nest.h"

static void solve(long n, const double *l, const double *b, double *x) {
  for (long i = 0; i < n; i++) {
    double s = b[i];
    for (long j = 0; j < i; j++)
      s -= l[i * n + j] * x[j];
    x[i] = s / l[i * n + i];
  }
}

int main(void) {
  SIZE(n, 1024);
  double *l = ARRAY(double, n *n);
  double *b = ARRAY(double, n);
  double *x = ARRAY(double, n);
  fill(l, n * n);
  fill(b, n);
  solve(n, l, b, x);
  USE(x[7]);
}
