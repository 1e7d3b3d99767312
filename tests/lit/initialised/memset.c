// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a memset of the size asked for initialises.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// CHECK: superpages, at the first touch since every byte is written: 
#include <stdlib.h>
#include <string.h>
char *f(long n) {
  char *a = malloc(n);
  memset(a, 7, n);
  return a;
}
