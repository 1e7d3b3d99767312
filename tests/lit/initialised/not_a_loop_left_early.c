// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a loop that may be left early proves nothing.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
int more(void);
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++) {
    if (!more())
      break;
    a[i] = i;
  }
  return a;
}
