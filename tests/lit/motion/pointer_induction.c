// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a loop that moves a pointer instead of an index has the same stride.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: superpages{{.*}}: malloc of 67108864 bytes in 'f': walked 8192 bytes apart
#include <stdlib.h>
long f(int rounds) {
  char *a = calloc(1, 1), *b = malloc(64 << 20);
  long s = 0;
  for (long i = 0; i < 64 << 20; i++)
    b[i] = i;
  for (int r = 0; r < rounds; r++)
    for (char *p = b, *end = b + (64 << 20); p != end; p += 8192)
      s += *p * s + r;
  free(a);
  free(b);
  return s;
}
