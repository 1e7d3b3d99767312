// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a function that fills its argument, inlined, initialises what its caller allocated.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
static void fill(double *a, long n) {
  for (long i = 0; i < n; i++)
    a[i] = i;
}
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  fill(a, n);
  return a;
}
