// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: the promotion point stands behind the loop's guard: a loop that does not run asks for nothing.
// RUN: %clang -O2 -fno-vectorize -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK: %[[RUNS:.*]] = icmp sgt i64 %{{.*}}, 0
// CHECK-NEXT: br i1 %[[RUNS]]
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(
void f(double *restrict to, const double *restrict a, const int *restrict index, long m) {
  for (long i = 0; i < m; i++)
    to[i] = a[index[i]];
}
