// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: rows found through two tables start anywhere: short streams that are waited for.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of n*4 bytes in 'neighbours'
#include <stdlib.h>
static unsigned *neighbours(long n) { return malloc(n * sizeof(unsigned)); }
long f(const unsigned *queue, const unsigned *start, long vertices, long n) {
  unsigned *edge = neighbours(n);
  long s = 0;
  for (long i = 0; i < n; i++)
    edge[i] = i * 7;
  for (long q = 0; q < vertices; q++)
    for (unsigned k = start[queue[q]]; k < start[queue[q] + 1]; k++)
      s += edge[k];
  free(edge);
  return s;
}
