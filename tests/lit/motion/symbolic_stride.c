// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop step that is known at run time only is a symbolic stride, not an irregular address.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: superpages from 8.0 MiB on{{.*}}: walked across rows (a stride known at run time) in the nest of 2 loops
#include <stdlib.h>
double f(long n, long step, int rounds) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < n; i += step)
      s += a[i] * r;
  free(a);
  return s;
}
