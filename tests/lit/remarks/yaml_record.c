// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: -fsave-optimization-record has the numbers of each site as values.
// RUN: %clang -O2 -c -o /dev/null -fsave-optimization-record -foptimization-record-passes=smalloc -foptimization-record-file=%t.yaml %s && FileCheck %s < %t.yaml
// CHECK: --- !Passed
// CHECK-NEXT: Pass: {{ *}}smalloc
// CHECK-NEXT: Name: {{ *}}SuperpagesAtRunTime
// CHECK: Line: 19,
// CHECK: Column: 15
// CHECK: Function: {{ *}}f
// CHECK: - MinSize: {{ *}}8.2 MiB
// CHECK: --- !Analysis
// CHECK-NEXT: Pass: {{ *}}smalloc
// CHECK-NEXT: Name: {{ *}}Spread
// CHECK: - Reach: {{ *}}'2048'
// CHECK: - Machine: {{ *}}zen4
// CHECK: - Confidence: {{ *}}'40'
#include <stdlib.h>
double f(const int *x, long n) {
  double *a = malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    s += a[x[i]] += i;
  free(a);
  return s;
}
