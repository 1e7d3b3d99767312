// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: an object of unknown size gets superpages at run time, from the reach on.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t %s && cat %t/*.json | FileCheck %s
// CHECK: "decision": "runtime"
// 2049 pages
// CHECK: "min_bytes": 8392704
// CHECK: "rewritten": true
#include <stdlib.h>
double f(long n) {
  double *a = malloc(n * n * sizeof(double)), s = 0;
  for (long i = 0; i < n * n; i++)
    a[i] = i;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i * n + j];
  free(a);
  return s;
}
