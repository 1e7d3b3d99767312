// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: heap=off decides base pages for every site and rewrites none.
// RUN: %remarks -fplugin-arg-smalloc-heap=off %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-heap=off -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// CHECK: base pages: malloc of n*8 bytes in 'f': heap=off: no superpages; walked across rows
// CHECK-NOT: superpages from
// IR-NOT: __smalloc_v1_t
// IR: call {{.*}}@malloc(
// IR-NOT: __smalloc_v1_t
#include <stdlib.h>
double f(long n) {
  double *a = malloc(n * n * sizeof(double)), s = 0;
  for (long i = 0; i < n * n; i++)
    a[i] = i;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i * n + j];
  free(a);
  return s;
}
