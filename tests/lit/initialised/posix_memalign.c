// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a block of posix_memalign, filled through the word that it wrote, is initialised.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(long n) {
  void *block;
  if (posix_memalign(&block, 64, n * sizeof(double)))
    return NULL;
  double *a = block;
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
