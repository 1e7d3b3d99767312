// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: realloc is a site of its own: its object is walked after it.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: realloc of n*8 bytes in 'f': picked at random through loaded indices
#include <stdlib.h>
double f(double *old, long n, const int *index, long m) {
  double *a = realloc(old, n * sizeof(double)), s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
