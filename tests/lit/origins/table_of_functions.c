// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call through a constant table of functions reaches each of them.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through loaded indices in the loop at line 8
#include <stdlib.h>
static double look(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
static double first(const double *a, const int *index, long m) { return a[index[0]] + m; }
static double (*const table[])(const double *, const int *, long) = {first, look, NULL};
double f(long n, const int *index, long m, int kind) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  double s = table[kind](a, index, m);
  free(a);
  return s;
}
