// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: nobody waits for the walks of what the program prefetches.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 1073741824 bytes in 'f': prefetched by the program
#include <stdlib.h>
double f(const int *index, long n) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < 1 << 27; i++)
    a[i] = i;
  for (long i = 0; i + 16 < n; i++) {
    __builtin_prefetch(&a[index[i + 16]]);
    s += a[index[i]];
  }
  free(a);
  return s;
}
