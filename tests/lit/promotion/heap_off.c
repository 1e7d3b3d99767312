// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: heap=off asks for nothing.
// RUN: %clang -O2 -fplugin-arg-smalloc-heap=off -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_touch
double f(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
