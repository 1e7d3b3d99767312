// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: machine=native and no machine at all are the same preset.
// RUN: %rawclang -fplugin=%plugin -O2 -c -o %t.1.o %s
// RUN: %rawclang -fplugin=%plugin -fplugin-arg-smalloc-machine=native -O2 -c -o %t.2.o %s
// RUN: cmp %t.1.o %t.2.o
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
