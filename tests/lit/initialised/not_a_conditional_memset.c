// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) a memset under a condition of its own proves nothing.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
#include <string.h>
char *f(long n, int clear) {
  char *a = malloc(n);
  if (clear)
    memset(a, 7, n);
  return a;
}
