// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an int index and an int count, extended on the way to the address, still initialise.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
double *f(int n) {
  double *a = malloc(n * sizeof(double));
  for (int i = 0; i < n; i++)
    a[i] = i;
  return a;
}
