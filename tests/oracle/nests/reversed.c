/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * backwards through one vector, forwards through another */
#include "nest.h"

static void reverse(long n, const double *a, double *b) {
  for (long i = 0; i < n; i++)
    b[n - 1 - i] = a[i];
}

int main(void) {
  SIZE(n, 500000);
  double *a = ARRAY(double, n);
  double *b = ARRAY(double, n);
  fill(a, n);
  reverse(n, a, b);
  USE(b[7]);
}
