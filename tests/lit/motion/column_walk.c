// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a column walk is seen as moving by a row, a stride known at run time, with each inner iteration.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: remark: superpages from 8.0 MiB on{{.*}}: malloc of n*8 bytes in 'f': walked across rows (a stride known at run time) in the nest of 2 loops at line 10: about 1.00 TLB misses an access once the object outgrows the reach of 2048 pages
#include <stdlib.h>
double f(long n) {
  double *a = malloc(n * n * sizeof(double)), s = 0;
  for (long i = 0; i < n * n; i++)
    a[i] = i;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i * n + j];
  free(a);
  return s;
}
