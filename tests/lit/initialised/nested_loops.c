// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a nest that writes row after row initialises the whole matrix.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(long n, long m) {
  double *a = malloc(n * m * sizeof(double));
  for (long i = 0; i < n; i++)
    for (long j = 0; j < m; j++)
      a[i * m + j] = i ^ j;
  return a;
}
