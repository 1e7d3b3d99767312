/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * three-point stencil on two vectors */
#include "nest.h"

static void relax(long steps, long n, double *a, double *b) {
  for (long t = 0; t < steps; t++) {
    for (long i = 1; i < n - 1; i++)
      b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1]);
    for (long i = 1; i < n - 1; i++)
      a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1]);
  }
}

int main(void) {
  SIZE(steps, 20);
  SIZE(n, 290000);
  double *a = ARRAY(double, n);
  double *b = ARRAY(double, n);
  fill(a, n);
  fill(b, n);
  relax(steps, n, a, b);
  USE(a[7]);
}
