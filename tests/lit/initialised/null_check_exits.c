// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a failed allocation that ends the program does not spoil the proof.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdio.h>
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * sizeof(double));
  if (a == NULL) {
    perror("malloc");
    exit(1);
  }
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
