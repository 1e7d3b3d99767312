// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a remark has line and column also without -g.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: line_without_g.c:8:15: remark: superpages from 8.2 MiB on: malloc of n*8 bytes in 'f': picked at random through loaded indices in the loop at line 9: about 0.88 TLB misses an access once the object outgrows the reach of 2048 pages [-Rpass=smalloc]
// CHECK: line_without_g.c:8:15: remark: malloc of n*8 bytes in 'f': spread min(i, size/4096) pages, reach 2048 pages of zen4, 0.88 TLB misses an access, translation saving 31 cycles an access, confidence 40 % [-Rpass-analysis=smalloc]
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
