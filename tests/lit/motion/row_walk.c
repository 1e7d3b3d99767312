// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a row walk is seen as streaming, through both loops of its nest.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: base pages: calloc of n*8 bytes in 'f': streamed in the nest of 2 loops at line 8: the prefetcher hides the walks
#include <stdlib.h>
double f(long n) {
  double *a = calloc(n * n, sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      s += a[i * n + j] += j;
  free(a);
  return s;
}
