// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the rows of a double** are found through the array that holds them.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'row':
#include <stdlib.h>
static double *row(long n) { return malloc(n * sizeof(double)); }
static double **rows(long n) { return malloc(n * sizeof(double *)); }
double f(long n) {
  double **a = rows(n), s = 0;
  for (long i = 0; i < n; i++) {
    a[i] = row(n);
    for (long j = 0; j < n; j++)
      a[i][j] = j;
  }
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i][j];
  return s;
}
