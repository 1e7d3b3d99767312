// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object whose size is known to fit the reach stays on base pages, however it is walked.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// 1000 x 1000 doubles are 1954 pages; zen4 reaches 2048.
// CHECK: base pages: malloc of 8000000 bytes in 'f': walked 8000 bytes apart in the nest of 2 loops at line 14: 0.0020 TLB misses an access, spread 1954 pages, reach 2048 pages
// CHECK-NOT: superpages
#include <stdlib.h>
enum { N = 1000 };
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
