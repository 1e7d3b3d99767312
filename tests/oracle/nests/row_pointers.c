/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * an array of row pointers, down the columns */
#include "nest.h"

static double sums(long n, long m, double **row) {
  double s = 0;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      s += row[i][j];
  return s;
}

static void rows(long n, long m, double **row) {
  for (long i = 0; i < n; i++) {
    row[i] = malloc((size_t)m * sizeof(double));
    for (long j = 0; j < m; j++)
      row[i][j] = (double)j;
  }
}

int main(void) {
  SIZE(n, 1000);
  SIZE(m, 600);
  double **row = ARRAY(double *, n);
  rows(n, m, row);
  USE(sums(n, m, row));
}
