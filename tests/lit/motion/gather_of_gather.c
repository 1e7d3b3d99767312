// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a gather through a gathered index is a gather of both arrays.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'values': picked at random through loaded indices
// CHECK-DAG: superpages from {{.*}}: malloc of n*4 bytes in 'indices': picked at random through loaded indices
#include <stdlib.h>
static double *values(long n) { return malloc(n * sizeof(double)); }
static int *indices(long n) { return malloc(n * sizeof(int)); }
double f(long n, const int *order, long m) {
  double *a = values(n), s = 0;
  int *index = indices(n);
  for (long i = 0; i < n; i++) {
    a[i] = i;
    index[i] = i ^ 5;
  }
  for (long i = 0; i < m; i++)
    s += a[index[order[i]]];
  free(a);
  free(index);
  return s;
}
