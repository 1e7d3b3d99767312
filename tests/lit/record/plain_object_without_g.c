// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without -g the object has no debug sections, though sites have lines.
// RUN: %clang -O2 -c -o %t.o %s && llvm-readelf -S %t.o | FileCheck %s
// CHECK-NOT: debug_
// CHECK: smalloc_sites
// CHECK-NOT: debug_
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
