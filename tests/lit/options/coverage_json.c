// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: coverage=DIR counts each heap access in a loop once, as the unit's own, as named, or as unknown; not
// those to the stack and to variables; and gives what joins units.
// RUN: rm -rf %t && %clang -O2 -fplugin-arg-smalloc-coverage=%t -c -o /dev/null %s && cat %t/coverage_json.c.*.json | FileCheck %s
// CHECK: "accesses": 4,
// CHECK: "attributed": 1,
// CHECK: "flows": [
// CHECK: "named": [
// CHECK: "accesses": 1,
// CHECK: "accesses": 1,
// CHECK: "origins_gave_up": false,
// CHECK: "runs": {
// CHECK: "accesses": 0,
// CHECK: "schema": "smalloc.coverage/1",
// CHECK: "sites": [
// CHECK-NEXT: "{{[0-9a-f]+}}"
// CHECK: "unit": "{{.*}}coverage_json.c"
// CHECK: "unnamed": 1
#include <stdlib.h>
int table[1000];
void out(double *);
double own(const int *x, long n) { // a[x[i]] is the site's, x[i] is argument 1's
  double *a = malloc(n * sizeof(double));
  double s = 0;
  out(a);
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++)
    s += a[x[i]];
  return s;
}
int named(const int *x, long n) {
  int s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++)
    s += x[i] * table[i]; // a variable
  return s;
}
int unknown(long address, long n) {
  int s = 0;
#pragma clang loop unroll(disable) vectorize(disable)
  for (long i = 0; i < n; i++)
    s += ((int *)address)[i];
  return s;
}
