// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: sites=DIR writes the unit's table as valid JSON of schema smalloc.sites/1.
// RUN: rm -rf %t && %clang -O2 -c -o /dev/null -fplugin-arg-smalloc-sites=%t/deep/er %s
// RUN: cat %t/deep/er/*.json | %python -m json.tool --sort-keys | FileCheck %s
// CHECK: "joined": false
// CHECK: "model": "spread"
// CHECK: "schema": "smalloc.sites/1"
// CHECK: "callee": "malloc"
// CHECK: "decided_by": "compiler"
// CHECK: "pattern": "scattered"
// CHECK: "totals": {
// CHECK-NEXT: "base": 0,
// CHECK-NEXT: "runtime": 1,
// CHECK-NEXT: "sites": 1,
// CHECK-NEXT: "superpage": 0
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
