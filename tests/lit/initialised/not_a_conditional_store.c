// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) stores under a condition prove nothing.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(long n, const char *wanted) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    if (wanted[i])
      a[i] = i;
  return a;
}
