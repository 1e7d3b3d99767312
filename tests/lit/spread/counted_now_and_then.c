// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an index that moves on now and then walks in order: no random access.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of 1073741824 bytes in 'f': streamed
#include <stdlib.h>
long f(const unsigned *x, long n, int rounds) {
  unsigned *kept = malloc(1 << 30);
  long count = 0;
  for (int r = 0; r < rounds; r++) {
    count = 0;
    for (long i = 0; i < n; i++)
      if (x[i] > 7)
        kept[count++] = x[i];
  }
  long s = kept[count / 2];
  free(kept);
  return s;
}
