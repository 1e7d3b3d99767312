// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop behind an early return proves nothing.
// A branch right before the loop passes for its guard.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
int ready(void);
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  if (!ready())
    return a;
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
