// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a local array is no object of the heap.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: __smalloc_v1_touch
void fill(double *);
double f(const int *index, long m) {
  double a[1 << 16], s = 0;
  fill(a);
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
