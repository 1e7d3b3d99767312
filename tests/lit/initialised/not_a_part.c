// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop over a part of the object does not initialise it.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n / 2; i++)
    a[i] = i;
  return a;
}
