/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * one matrix along its rows into another down its columns */
#include "nest.h"

static void transpose(long n, const double *a, double *b) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      b[j * n + i] = a[i * n + j];
}

int main(void) {
  SIZE(n, 1000);
  double *a = ARRAY(double, n *n);
  double *b = ARRAY(double, n *n);
  fill(a, n * n);
  transpose(n, a, b);
  USE(b[7]);
}
