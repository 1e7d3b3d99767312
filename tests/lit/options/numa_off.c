// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: without numa=hints nothing is said of threads, and the object is the same.
// RUN: %clang -O2 -fopenmp=libomp -c -o %t.plain.o %s && %clang -O2 -fopenmp=libomp -c -o %t.off.o -fplugin-arg-smalloc-numa=off %s
// RUN: cmp %t.plain.o %t.off.o
#include <stdlib.h>
double *f(long n) {
  double *a = malloc(n * sizeof(double));
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    a[i] = i;
  return a;
}
