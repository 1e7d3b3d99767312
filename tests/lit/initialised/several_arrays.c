// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: one loop that fills three arrays initialises all three.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK-COUNT-3: superpages, at the first touch since every byte is written: malloc of n*8 bytes
#include <stdlib.h>
void keep(double *, double *, double *);
void f(long n) {
  double *a = malloc(n * sizeof(double)), *b = malloc(n * sizeof(double)), *c = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++) {
    a[i] = 1;
    b[i] = 2;
    c[i] = 0;
  }
  keep(a, b, c);
}
