// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: heap=superpage decides superpages for every site, of any size.
// RUN: %remarks -fplugin-arg-smalloc-heap=superpage %s 2>&1 | FileCheck %s
// RUN: %clang -O2 -fplugin-arg-smalloc-heap=superpage -S -emit-llvm -o - %s | FileCheck --check-prefix=IR %s
// Decision 1, flags 1, 2 MiB, from 0 pages on.
// IR: .cell = {{.*}} { i64 1376{{[0-9]+}},
// CHECK: superpages: malloc of n bytes in 'f': heap=superpage: every site
#include <stdlib.h>
#include <string.h>
long f(long n, const char *text) {
  char *p = malloc(n);
  for (long i = 0; i < n; i += 3)
    p[i] = text[i];
  long s = p[0] + p[n - 1];
  free(p);
  return s;
}
