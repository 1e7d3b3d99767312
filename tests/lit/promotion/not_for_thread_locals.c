// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a thread-local array is no object of the heap.
// RUN: %clang -O2 -fPIC -S -emit-llvm -o - %s | FileCheck %s
// CHECK-NOT: @__smalloc_v1_touch
_Thread_local double a[1 << 22];
double f(const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
