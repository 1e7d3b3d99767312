// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a repetition that the optimiser unrolled is still a repetition.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of 1073741824 bytes in 'f': walked 8192 bytes apart
#include <stdlib.h>
double f(void) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < 1 << 27; i++)
    a[i] = i;
  for (int r = 0; r < 10; r++)
    for (long i = 0; i < 1 << 27; i += 1024)
      s += a[i] * r;
  free(a);
  return s;
}
