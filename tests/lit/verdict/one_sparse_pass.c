// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: one pass that touches each page about once gets none: a superpage would have to be filled for it.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: calloc of 1073741824 bytes in 'f': each page is touched about once
// CHECK-NOT: superpages
#include <stdlib.h>
char f(long k) {
  char *a = calloc(1 << 30, 1);
  for (long i = 0; i < 1 << 30; i += 8192)
    a[i] = (char)i;
  char c = a[k];
  free(a);
  return c;
}
