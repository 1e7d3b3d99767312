// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) realloc's result counts as half old, half new, and is never proved.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
double *f(double *a, long n) {
  a = realloc(a, n * sizeof(double));
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
