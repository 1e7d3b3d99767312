// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: two units whose files have one name write two tables.
// RUN: rm -rf %t && mkdir -p %t/a && mkdir -p %t/b && cp %s %t/a/x.c && cp %s %t/b/x.c
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/sites %t/a/x.c
// RUN: %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/sites %t/b/x.c
// RUN: ls %t/sites | count 2
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
