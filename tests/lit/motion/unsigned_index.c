// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: zero extension of an unsigned recurrence, which may wrap, is looked through.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: superpages from 8.0 MiB on{{.*}}: malloc of n*8 bytes in 'f': walked across rows (a stride known at run time) in the nest of 2 loops
#include <stdlib.h>
double f(unsigned n) {
  double *a = malloc((size_t)n * n * sizeof(double)), s = 0;
  for (unsigned i = 0; i < n * n; i++)
    a[i] = i;
  for (unsigned j = 0; j < n; j++)
    for (unsigned i = 0; i < n; i++)
      s += a[i * n + j];
  free(a);
  return s;
}
