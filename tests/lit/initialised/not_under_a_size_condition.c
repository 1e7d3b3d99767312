// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop that runs for small sizes only does not initialise big objects.
// Any comparison of the size passes for "not empty"; only one against 0 or 1 is.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  if (n < 1000)
    for (long i = 0; i < n; i++)
      a[i] = i;
  return a;
}
