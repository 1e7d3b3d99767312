// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: a nest over two arrays asks for both.
// RUN: %clang -O2 -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@f(
// CHECK-COUNT-2: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK-NOT: call {{.*}}void @__smalloc_v1_touch_counting(
// CHECK: ret double
double f(const double *restrict a, const double *restrict b, long n) {
  double s = 0;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < n; i++)
      s += a[i * n + j] * b[i * n + j];
  return s;
}
