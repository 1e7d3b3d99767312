// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a call that reads and does not capture its argument is no escape.
// RUN: %remarks -fplugin-arg-smalloc-first-touch=off %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n bytes in 'f': {{[^;]*}} [-Rpass-missed=smalloc]
// CHECK-NOT: undecided
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
unsigned long f(long n, const char *text) {
  char *p = malloc(n);
  memcpy(p, text, n);
  unsigned long length = strlen(p);
  puts(p);
  free(p);
  return length;
}
