// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an access through loaded indices is a gather.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices in the loop at line 11
#include <stdlib.h>
double f(long n, const int *index, long m) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;

  for (long i = 0; i < m; i++)
    s += a[index[i]];
  free(a);
  return s;
}
