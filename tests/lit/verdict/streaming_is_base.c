// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a stream, whose page walks the prefetcher hides, stays on base pages whatever its size.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 1073741824 bytes in 'f': streamed in {{.*}}: the prefetcher hides the walks
// CHECK-NOT: superpages
#include <stdlib.h>
double f(int rounds) {
  double *a = malloc(1 << 30), s = 0;
  for (long i = 0; i < 1 << 27; i++)
    a[i] = i;
  for (int r = 0; r < rounds; r++)
    for (long i = 0; i < 1 << 27; i++)
      s += a[i] * r;
  free(a);
  return s;
}
