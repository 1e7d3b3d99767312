// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: three nested loops over a cube initialise it.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * n * n * sizeof(double));
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        a[(i * n + j) * n + k] = i ^ j ^ k;
  return a;
}
