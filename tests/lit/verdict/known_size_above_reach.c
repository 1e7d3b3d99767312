// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object whose size is known to outgrow the reach gets superpages where its walk misses.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of 42467328 bytes in 'f': walked 18432 bytes apart in the nest of 2 loops at line {{[0-9]+}}: 1.00 TLB misses an access, spread 10368 pages, reach 2048 pages
#include <stdlib.h>
enum { N = 2304 };
double f(int rounds) {
  double *a = malloc(N * N * sizeof(double)), s = 0;
  for (long i = 0; i < N * N; i++)
    a[i] = i;
  for (long j = 0; j < N; j++)
    for (long i = 0; i < N; i++)
      s += a[i * N + j];
  free(a);
  return s;
}
