// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: (the opposite) stores two pages apart leave pages untouched.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: remark: superpages: 
#include <stdlib.h>
char *f(long n) {
  char *a = malloc(n);
  for (long i = 0; i < n; i += 8192)
    a[i] = 1;
  return a;
}
