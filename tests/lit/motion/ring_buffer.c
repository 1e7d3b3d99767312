// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an index masked to a ring still moves evenly: a stream.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: calloc of 67108864 bytes in 'f': streamed
// CHECK-NOT: superpages
#include <stdlib.h>
double f(unsigned m) {
  double *a = calloc(1 << 23, sizeof(double)), s = 0;
  for (unsigned i = 0; i < m; i++)
    s += a[i & ((1 << 23) - 1)] += i;
  free(a);
  return s;
}
