// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: long steps that a mask brings round elsewhere each time are a hash, though a round has some hundred; those that
// come back to the same pages are a walk.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: calloc of 268435456 bytes in 'elsewhere': picked at random through computed indices
// CHECK: base pages: calloc of 268435456 bytes in 'back_again'
#include <stdlib.h>
#define WALK(NAME, STEP)                                                                           \
  double NAME(unsigned m) {                                                                        \
    double *a = calloc(1 << 25, sizeof(double)), s = 0;                                            \
    for (unsigned i = 0; i < m; i++)                                                               \
      s += a[(i * STEP) & ((1 << 25) - 1)] += i;                                                   \
    free(a);                                                                                       \
    return s;                                                                                      \
  }
WALK(elsewhere, 40503u)
WALK(back_again, 131071u)
