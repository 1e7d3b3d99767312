// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a remark has the same line and column with -g.
// RUN: %remarks -g %s 2>&1 | FileCheck %s
// CHECK: line_with_g.c:7:15: remark: superpages from 8.2 MiB on: malloc of n*8 bytes in 'f'
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
