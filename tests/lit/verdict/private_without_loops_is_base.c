// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object that stays in the unit and that no loop walks is base pages for good: a plain call.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK: call {{.*}}@malloc(
// CHECK-NOT: __smalloc_v1_thunk
#include <stdlib.h>
#include <string.h>
long f(long n, const char *text) {
  char *p = malloc(n);
  memcpy(p, text, n);
  long s = p[0] + p[n - 1] * strlen(p);
  free(p);
  return s;
}
