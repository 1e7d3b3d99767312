// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a nest that is known to be short cannot pay for a collapse, and asks for nothing.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_touch
double f(const double *a, const int *index) {
  double s = 0;
  for (long i = 0; i < 10000; i++)
    s += a[index[i]];
  return s;
}
