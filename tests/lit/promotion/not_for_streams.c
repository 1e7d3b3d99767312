// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a stream asks for nothing.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_touch
double f(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++)
    s += a[i] * s;
  return s;
}
