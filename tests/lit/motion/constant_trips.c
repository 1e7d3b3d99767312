// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: known trip counts and strides make the spread a number.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: remark: superpages{{.*}}: malloc of 134217728 bytes in 'f': walked 32768 bytes apart in the nest of 2 loops at line 11: 1.00 TLB misses an access, spread 32768 pages, reach 2048 pages
// CHECK: spread 32768 pages, reach 2048 pages of zen4, 1.00 TLB misses an access, translation saving 35 cycles an access{{.*}}, confidence 90 %
#include <stdlib.h>
double f(void) {
  double *a = malloc(4096l * 4096 * sizeof(double)), s = 0;
  for (long i = 0; i < 4096l * 4096; i++)
    a[i] = i;
  for (int j = 0; j < 4096; j++)
    for (int i = 0; i < 4096; i++)
      s += a[i * 4096 + j];
  free(a);
  return s;
}
