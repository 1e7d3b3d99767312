// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a while loop with a symbolic step, of which no trip count is provable, is a symbolic stride.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: superpages from 8.0 MiB on{{.*}}: walked across rows (a stride known at run time) in the nest of 2 loops
#include <stdlib.h>
double f(unsigned long n, const unsigned long *step, int rounds) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++) {
    unsigned long i = 0;
    while (i < n) {
      s += a[i] * r;
      i += *step;
    }
  }
  free(a);
  return s;
}
