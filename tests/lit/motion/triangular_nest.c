// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a triangular nest, whose inner start depends on the outer loop, keeps its stride.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: superpages from 8.0 MiB on{{.*}}: walked across rows (a stride known at run time) in the nest of 2 loops at line 10
#include <stdlib.h>
double f(long n) {
  double *a = malloc(n * n * sizeof(double)), s = 0;
  for (long i = 0; i < n * n; i++)
    a[i] = i;
  for (long j = 0; j < n; j++)
    for (long i = j; i < n; i++)
      s += a[i * n + j];
  free(a);
  return s;
}
