// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop that starts behind the first element does not initialise.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(long n, long k) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i + k] = i;
  return a;
}
