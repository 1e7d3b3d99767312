// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop that runs under a condition of its own proves nothing.
// A branch right before the loop passes for its guard, whatever else it tests.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(long n, int fill) {
  double *a = malloc(n * sizeof(double));
  if (fill)
    for (long i = 0; i < n; i++)
      a[i] = i;
  return a;
}
