/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * CSR sparse matrix times vector: streams and one gather */
#include "nest.h"

static void multiply(long n, const unsigned *start, const unsigned *column, const double *value,
                     const double *x, double *y) {
  for (long i = 0; i < n; i++) {
    double s = 0;
    for (unsigned k = start[i]; k < start[i + 1]; k++)
      s += value[k] * x[column[k]];
    y[i] = s;
  }
}

static void rows(long n, unsigned *start) {
  for (long i = 0; i <= n; i++)
    start[i] = (unsigned)(i * 8);
}

int main(void) {
  SIZE(n, 1 << 18);
  unsigned *start = ARRAY(unsigned, n + 1);
  unsigned *column = ARRAY(unsigned, n * 8);
  double *value = ARRAY(double, n * 8);
  double *x = ARRAY(double, n);
  double *y = ARRAY(double, n);
  rows(n, start);
  fill_random(column, n * 8, (unsigned)n);
  fill(value, n * 8);
  fill(x, n);
  multiply(n, start, column, value, x, y);
  USE(y[7]);
}
