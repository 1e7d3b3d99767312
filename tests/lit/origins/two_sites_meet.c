// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer that one of two allocations gave reaches both.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices
// CHECK-DAG: superpages from {{.*}}: calloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
double f(long n, const int *index, long m, int zero) {
  double *a = zero ? calloc(n, sizeof(double)) : malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < m; i++) {
    a[index[i]] += i;
    s += a[index[i]];
  }
  free(a);
  return s;
}
