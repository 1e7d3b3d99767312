// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a static array is no object of the heap.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_touch
static double a[1 << 24];
double f(const int *index, long m, int k) {
  double s = 0;
  a[k]++;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
