// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a hash masked by a constant is unpredictable, not a stride as long as its multiplier.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: calloc of 67108864 bytes in 'f': picked at random through computed indices
#include <stdlib.h>
double f(unsigned m) {
  double *a = calloc(1 << 23, sizeof(double)), s = 0;
  for (unsigned i = 0; i < m; i++)
    s += a[(i * 2654435761u >> 7) & ((1 << 23) - 1)] += i;
  free(a);
  return s;
}
