// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a transpose in blocks that fit the reach stays on base pages.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: base pages: malloc of 134217728 bytes in 'from'
// CHECK-DAG: base pages: malloc of 134217728 bytes in 'to'
#include <stdlib.h>
enum { N = 4096, B = 64 };
static double *from(void) { return malloc(N * N * sizeof(double)); }
static double *to(void) { return malloc(N * N * sizeof(double)); }
double f(double x) {
  double *a = from(), *b = to();
  for (long i = 0; i < N * N; i++)
    a[i] = x += i;
  for (long ii = 0; ii < N; ii += B)
    for (long jj = 0; jj < N; jj += B)
      for (long i = ii; i < ii + B; i++)
        for (long j = jj; j < jj + B; j++)
          b[j * N + i] = a[i * N + j];
  double s = b[(long)x];
  free(a);
  free(b);
  return s;
}
