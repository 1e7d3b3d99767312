// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a triangular nest of constant size has a known spread: half the pages of long rows.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: malloc of 134217728 bytes in 'f': {{.*}} spread 184{{..}} pages
#include <stdlib.h>
enum { N = 4096 };
double f(double *x) {
  double *a = malloc(N * (size_t)N * sizeof(double)), s = 0;
  for (long i = 0; i < N * (long)N; i++)
    a[i] = i;
  for (long j = 0; j < N; j++)
    for (long i = j; i < N; i++)
      x[j] += a[i * N + j];
  free(a);
  return s;
}
