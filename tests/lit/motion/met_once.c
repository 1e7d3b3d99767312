// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: one look into an object that each call allocates anew is taken for a table that calls look into at
// random, and a stream gets superpages. What is kept from call to call is such a table.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
#include <stdlib.h>
static double *kept;
double median(size_t n) {
  // CHECK: met_once.c:[[@LINE+1]]:{{.*}}base pages: malloc {{.*}} in 'median': streamed
  double *a = malloc(n * sizeof(double));
  for (size_t i = 0; i < n; i++)
    a[i] = i & 7;
  double m = a[n / 2];
  free(a);
  return m;
}
double look(unsigned at, size_t n) {
  // CHECK: met_once.c:[[@LINE+1]]:{{.*}}superpages from {{.*}} in 'look': picked at random through computed indices
  kept = realloc(kept, n * sizeof(double));
  return kept[(at * 2654435761u >> 7) & (n - 1)];
}
