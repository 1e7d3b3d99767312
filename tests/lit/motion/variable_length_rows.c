// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a pointer to rows of variable length walked by columns is strided by a symbolic row.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of {{.*}} in 'f': walked across rows (a stride known at run time)
#include <stdlib.h>
double f(long n, long m) {
  double(*a)[m] = malloc(n * sizeof *a), s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[i][j] = i ^ j;
  for (long j = 0; j < m; j++)
    for (long i = 0; i < n; i++)
      s += a[i][j];
  free(a);
  return s;
}
