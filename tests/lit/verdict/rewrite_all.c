// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: rewrite=all makes also those sites steerable that are base pages for good, with a cell that says malloc.
// RUN: %clang -fplugin-arg-smalloc-first-touch=off -O2 -fplugin-arg-smalloc-rewrite=all -S -emit-llvm -o - %s | FileCheck %s
// CHECK: .cell = {{.*}}{ i64 0, i64 sub
// CHECK: call {{.*}}@__smalloc_v1_thunk_malloc(
#include <stdlib.h>
#include <string.h>
long f(long n, const char *text) {
  char *p = malloc(n);
  memcpy(p, text, n);
  long s = p[0] + p[n - 1] * strlen(p);
  free(p);
  return s;
}
