// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a promotion point stands before the outermost loop of a nest that pays, once.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK: call {{.*}}void @__smalloc_v1_touch_counting(ptr {{.*}}%0, i64 %{{.*}})
// CHECK-NOT: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK: ret double
double f(const double *restrict a, long n) {
  double s = 0;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i * n + j];
  return s;
}
