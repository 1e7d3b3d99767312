// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a walk from the end to the start is a stream as well.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n*8 bytes in 'f': streamed
// CHECK-NOT: superpages
#include <stdlib.h>
double f(long n, int rounds) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = n; i-- > 0;)
      s += a[i] * s;
  free(a);
  return s;
}
