// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: statements between the loops of a nest do not hide the inner walk, and are judged on their own.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages from 8.0 MiB on{{.*}}: malloc of n*8 bytes in 'matrix': walked across rows
// CHECK-DAG: base pages: malloc of n*8 bytes in 'vector': streamed in the loop
#include <stdlib.h>
static double *matrix(long n) { return malloc(n * n * sizeof(double)); }
static double *vector(long n) { return malloc(n * sizeof(double)); }
double f(long n) {
  double *a = matrix(n), *b = vector(n), s = 0;
  for (long i = 0; i < n * n; i++)
    a[i] = i;
  for (long j = 0; j < n; j++) {
    double t = 0;
    for (long i = 0; i < n; i++)
      t += a[i * n + j];
    b[j] = t;
  }
  for (long j = 0; j < n; j++)
    s += b[j] * j;
  free(a);
  free(b);
  return s;
}
