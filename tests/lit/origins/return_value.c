// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the result of a function of the unit is what it returns.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'make': picked at random through loaded indices
#include <stdlib.h>
__attribute__((noinline)) static double *make(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
double f(long n, const int *index, long m) {
  double *a = make(n), s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  free(a);
  return s;
}
