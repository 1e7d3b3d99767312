// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: of an option given twice the last one counts.
// RUN: %clang -O2 -c -o /dev/null -Rpass-missed=smalloc -fplugin-arg-smalloc-heap=superpage -fplugin-arg-smalloc-heap=off %s 2>&1 | FileCheck %s
// CHECK: base pages: {{.*}}heap=off
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
