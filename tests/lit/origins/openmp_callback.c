// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the body of a parallel region, a callback, sees the pointers that its region shares.
// RUN: %remarks -fopenmp=libomp %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
double f(long n, const int *index, long m) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
#pragma omp parallel for reduction(+ : s)
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  free(a);
  return s;
}
