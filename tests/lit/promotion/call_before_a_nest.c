// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: before a nest of loops stands a call that spoils no registers, whose thunk looks whether anything
// waits: the test in line is for lone loops, which may be short.
// RUN: %clang -O2 --target=x86_64-linux-gnu -S -emit-llvm -o - %s | FileCheck %s
// CHECK-LABEL: define {{.*}}@nest(
// CHECK-NOT: @__smalloc_v1_pending
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(
// CHECK-NOT: @__smalloc_v1_pending
// CHECK: ret double
// CHECK-LABEL: define {{.*}}@lone(
// CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK: call preserve_mostcc void @__smalloc_v1_touch_counting(
// CHECK: ret double
// CHECK-LABEL: define linkonce_odr hidden preserve_mostcc void @__smalloc_v1_touch_counting(
// CHECK: load atomic i32, ptr @__smalloc_v1_pending monotonic
// CHECK: call void @__smalloc_v1_touching(
double nest(const double *a, const int *index, long m, long n) {
  double s = 0;
  for (long j = 0; j < n; j++)
    for (long i = 0; i < m; i++)
      s += a[index[i] + j * 1000];
  return s;
}
double lone(const double *a, const int *index, long m) {
  double s = 0;
  for (long i = 0; i < m; i++)
    s += a[index[i]];
  return s;
}
