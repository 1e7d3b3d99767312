// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: what the old block's words point to, realloc's result points to as well.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'row': picked at random through loaded indices
#include <stdlib.h>
static double *row(long n) { return malloc(n * sizeof(double)); }
double f(long n, const int *index, long m) {
  double **a = malloc(sizeof(double *)), s = 0;
  a[0] = row(n);
  a = realloc(a, n * sizeof(double *));
  for (long i = 0; i < m; i++)
    s += a[0][index[i]];
  return s;
}
