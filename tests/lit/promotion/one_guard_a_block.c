// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: several arrays that one nest walks are tested for together.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK-COUNT-1: load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK-NOT: load atomic i32, ptr @__smalloc_v1_pending
// CHECK-COUNT-2: call preserve_mostcc void @__smalloc_v1_touch_counting(
// CHECK-NOT: load atomic i32, ptr @__smalloc_v1_pending
// CHECK: ret double
double f(const double *a, const double *b, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]] * b[index[i]];
  return s;
}
