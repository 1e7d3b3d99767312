// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an index from a generator, a recurrence that is not affine, is unpredictable.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through computed indices
#include <stdlib.h>
double f(unsigned long n, unsigned m) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  unsigned long x = m;
  for (unsigned i = 0; i < m; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    s += a[x % n];
  }
  free(a);
  return s;
}
