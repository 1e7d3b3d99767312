// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop from the last to the first element initialises.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = n - 1; i >= 0; i--)
    a[i] = i;
  return a;
}
