// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an argument of a static function points to what its callers pass.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices in the loop at line 9
#include <stdlib.h>
__attribute__((noinline)) static double look(const double *a, const int *index, long m) {
  double s = 0;

  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
double f(long n, const int *index, long m) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = look(a, index, m);
  free(a);
  return s;
}
