// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: strcpy, strcat and the like return their argument and keep no copy: no escape.
// RUN: %remarks %s 2>&1 | FileCheck %s
// CHECK: base pages: malloc of n bytes in 'f': {{[^;]*}} [-Rpass-missed=smalloc]
// CHECK-NOT: undecided
#include <stdlib.h>
#include <string.h>
unsigned long f(long n, const char *a, const char *b) {
  char *p = malloc(n);
  strcpy(p, a);
  strcat(p, b);
  unsigned long length = strlen(p);
  free(p);
  return length;
}
