// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer to rows of constant length, double (*)[N], walked by columns is strided by a row.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*16384 bytes in 'f': walked 16384 bytes apart
#include <stdlib.h>
double f(long n) {
  double(*a)[2048] = malloc(n * sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < 2048; j++)
      a[i][j] = i ^ j;
  for (long j = 0; j < 2048; j++)
    for (long i = 0; i < n; i++)
      s += a[i][j];
  free(a);
  return s;
}
