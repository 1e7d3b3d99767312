// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a constant size and a constant count are compared as numbers.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(void) {
  double *a = malloc(1 << 25);
  for (int i = 0; i < 1 << 22; i++)
    a[i] = i;
  return a;
}
