// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: in a naive matrix multiply the matrix read by columns pays, the one read by rows does not.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK-DAG: superpages{{.*}}: malloc of 134217728 bytes in 'by_columns'
// CHECK-DAG: base pages: malloc of 134217728 bytes in 'by_rows'
#include <stdlib.h>
enum { N = 4096 };
static double *by_rows(void) { return malloc(N * N * sizeof(double)); }
static double *by_columns(void) { return malloc(N * N * sizeof(double)); }
void f(double *restrict c) {
  double *a = by_rows(), *b = by_columns();
  for (long i = 0; i < N * N; i++)
    a[i] = b[i] = i;
  for (long i = 0; i < N; i++)
    for (long j = 0; j < N; j++) {
      double s = 0;
      for (long k = 0; k < N; k++)
        s += a[i * N + k] * b[k * N + j];
      c[i * N + j] = s;
    }
  free(a);
  free(b);
}
