// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a hash masked by a power of two known at run time is computed and unpredictable.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages from {{.*}}: malloc of n*8 bytes in 'f': picked at random through computed indices
#include <stdlib.h>
double f(unsigned bits, unsigned m) {
  unsigned long n = 1ul << bits;
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    a[i] = i;
  for (unsigned i = 0; i < m; i++)
    s += a[(i * 2654435761u >> 7) & (n - 1)];
  free(a);
  return s;
}
